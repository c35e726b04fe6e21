// SPDX-License-Identifier: MIT
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.data.Stat;

/** A process with Apache Curator's locks: spec/support/neighbour.lua says what goes over its pipe. */
final class Curator {
    /** Curator tells a lock's node only to those who extend it. */
    private interface Located extends InterProcessLock {
        String where();
    }

    private static final class Mutex extends InterProcessMutex implements Located {
        Mutex(CuratorFramework client, String path) {
            super(client, path);
        }

        @Override
        public String where() {
            return getLockPath();
        }
    }

    private static final class Write extends InterProcessReadWriteLock.WriteLock implements Located {
        Write(CuratorFramework client, String path) {
            super(client, path, null);
        }

        @Override
        public String where() {
            return getLockPath();
        }
    }

    private static final class Read extends InterProcessReadWriteLock.ReadLock implements Located {
        Read(CuratorFramework client, String path, Write write) {
            super(client, path, null, write);
        }

        @Override
        public String where() {
            return getLockPath();
        }
    }

    private static final class ReadWrite extends InterProcessReadWriteLock {
        ReadWrite(CuratorFramework client, String path) {
            this(client, path, new Write(client, path));
        }

        private ReadWrite(CuratorFramework client, String path, Write write) {
            super(write, new Read(client, path, write));
        }
    }

    /** The object that the verbs work on. */
    private interface Place {
        /** Gives the token, or null when the time is over; without a timeout it waits for ever. */
        Long acquire(Double timeout, int count) throws Exception;

        void release() throws Exception;

        /** The nodes of those who may be asked to give it back, in order. */
        Collection<String> asked() throws Exception;

        void onRevoke(Runnable listener);

        boolean isShared();
    }

    private final class Lock implements Place {
        private final Located lock;

        Lock(InterProcessLock lock) {
            this.lock = (Located) lock;
        }

        @Override
        public Long acquire(Double timeout, int count) throws Exception {
            if (timeout == null) {
                lock.acquire();
            } else if (!lock.acquire(millis(timeout), TimeUnit.MILLISECONDS)) {
                return null;
            }
            return created(lock.where());
        }

        @Override
        public void release() throws Exception {
            lock.release();
        }

        @Override
        public Collection<String> asked() throws Exception {
            return ((InterProcessMutex) lock).getParticipantNodes();
        }

        @Override
        public void onRevoke(Runnable listener) {
            ((InterProcessMutex) lock).makeRevocable(asked -> listener.run());
        }

        @Override
        public boolean isShared() {
            return lock instanceof Read;
        }
    }

    private final class Semaphore implements Place {
        private final InterProcessSemaphoreV2 semaphore;
        private final String leases;
        private final Deque<Collection<Lease>> out = new ArrayDeque<>();

        Semaphore(String path, int permits) {
            semaphore = new InterProcessSemaphoreV2(client, path, permits);
            leases = path + "/leases/";
        }

        @Override
        public Long acquire(Double timeout, int count) throws Exception {
            final Collection<Lease> got = timeout == null ? semaphore.acquire(count)
                : semaphore.acquire(count, millis(timeout), TimeUnit.MILLISECONDS);
            if (got == null) {
                return null;
            }
            out.add(got);
            return created(leases + got.iterator().next().getNodeName());
        }

        @Override
        public void release() {
            if (out.isEmpty()) {
                throw new IllegalMonitorStateException("no lease is out");
            }
            semaphore.returnAll(out.remove());
        }

        @Override
        public Collection<String> asked() throws Exception {
            final List<String> nodes = new ArrayList<>();
            for (String name : semaphore.getParticipantNodes()) {
                nodes.add(leases + name);
            }
            return nodes;
        }

        @Override
        public void onRevoke(Runnable listener) {
            throw new UnsupportedOperationException("Curator's semaphore cannot be revoked");
        }

        @Override
        public boolean isShared() {
            return true;
        }
    }

    /** A link to spec/support/resource.lua. */
    private static final class Resource implements AutoCloseable {
        private final Socket link;
        private final BufferedReader in;
        private final OutputStream out;

        Resource(String address) throws IOException {
            final int colon = address.lastIndexOf(':');
            link = new Socket(InetAddress.getByName(address.substring(0, colon)),
                Integer.parseInt(address.substring(colon + 1)));
            link.setTcpNoDelay(true);
            link.setSoTimeout(30000);
            in = new BufferedReader(new InputStreamReader(link.getInputStream(), StandardCharsets.US_ASCII));
            out = link.getOutputStream();
        }

        boolean step(String verb, long token, String owner) throws IOException {
            out.write((verb + " " + token + " " + owner + "\n").getBytes(StandardCharsets.US_ASCII));
            final String answer = in.readLine();
            if (answer == null) {
                throw new IOException("the resource has gone");
            }
            return answer.equals("accepted");
        }

        @Override
        public void close() throws IOException {
            link.close();
        }
    }

    private final Map<String, Place> places = new HashMap<>();
    private final Map<String, ReadWrite> readWrites = new HashMap<>();
    private final Queue<String> revoked = new ConcurrentLinkedQueue<>();
    private final Map<String, Resource> resources = new HashMap<>();
    private CuratorFramework client;

    private static long millis(double seconds) {
        return Math.round(seconds * 1000);
    }

    private static Double timeout(String word) {
        return word.equals("-") ? null : Double.valueOf(word);
    }

    /** The fencing token: the creation zxid of the lock's node. */
    private Long created(String node) throws Exception {
        final Stat stat = client.checkExists().forPath(node);
        if (stat == null) {
            throw new IllegalStateException("granted, but its node is gone: " + node);
        }
        return stat.getCzxid();
    }

    private Place make(String name) {
        final int colon = name.indexOf(':');
        final String kind = name.substring(0, Math.max(colon, 0));
        final String path = name.substring(colon + 1);
        if (kind.isEmpty()) {
            return new Lock(new Mutex(client, path));
        }
        if (kind.startsWith("semaphore/")) {
            return new Semaphore(path, Integer.parseInt(kind.substring("semaphore/".length())));
        }
        final ReadWrite both = readWrites.computeIfAbsent(path, any -> new ReadWrite(client, path));
        switch (kind) {
            case "read":
                return new Lock(both.readLock());
            case "write":
                return new Lock(both.writeLock());
            default:
                throw new IllegalArgumentException("no kind " + kind);
        }
    }

    private Place at(String name) {
        return places.computeIfAbsent(name, this::make);
    }

    private String connect(String hosts, Map<String, String> options) throws Exception {
        final long session = millis(Double.parseDouble(options.getOrDefault("session_timeout", "10")));
        final CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder().connectString(hosts)
            .sessionTimeoutMs((int) session).connectionTimeoutMs(30000).retryPolicy(new ExponentialBackoffRetry(50, 8));
        if (options.containsKey("digest")) {
            builder.authorization("digest", options.get("digest").getBytes(StandardCharsets.UTF_8));
        }
        client = builder.build();
        client.start();
        return client.blockUntilConnected(30, TimeUnit.SECONDS) ? "true" : "false,\"disconnected\"";
    }

    private String acquire(String name, Double timeout, int count) throws Exception {
        final Long token = at(name).acquire(timeout, count);
        return token == null ? "nil,\"timeout\"" : token.toString();
    }

    private String release(String name) throws Exception {
        try {
            at(name).release();
            return "true";
        } catch (IllegalMonitorStateException e) {
            return "nil,\"not owner\"";
        }
    }

    private String revoke(String name) throws Exception {
        final Iterator<String> nodes = at(name).asked().iterator();
        if (!nodes.hasNext()) {
            return "false";
        }
        Revoker.attemptRevoke(client, nodes.next());
        return "true";
    }

    private String events() {
        final StringBuilder list = new StringBuilder("{");
        for (String name = revoked.poll(); name != null; name = revoked.poll()) {
            list.append("{\"revoke\",").append(quoted(name)).append("},");
        }
        return list.append('}').toString();
    }

    /** The same turn as that of spec/support/worker_main.lua. */
    private boolean turn(Resource resource, String name, Map<String, String> order) throws Exception {
        final String owner = order.get("owner");
        final Place place = at(name);
        final boolean shared = place.isShared();
        resource.step("ask", 0, owner);
        final Long token = place.acquire(timeout(order.getOrDefault("timeout", "-")),
            Integer.parseInt(order.getOrDefault("count", "1")));
        if (token == null) {
            resource.step("quit", 0, owner);
            return false;
        }
        boolean inside = resource.step(shared ? "join" : "enter", token, owner);
        for (int left = Integer.parseInt(order.getOrDefault("writes", "1")); left > 0 && inside; left--) {
            inside = resource.step(shared ? "read" : "write", token, owner);
        }
        if (inside) {
            resource.step(shared ? "part" : "leave", token, owner);
        }
        place.release();
        return true;
    }

    private String contend(Map<String, String> order) throws Exception {
        final String[] names = order.get("path").split(",");
        final int rounds = (int) Double.parseDouble(order.get("rounds"));
        int granted = 0;
        int failed = 0;
        try (Resource resource = new Resource(order.get("resource"))) {
            for (int round = 0; round < rounds; round++) {
                if (turn(resource, names[round % names.length], order)) {
                    granted++;
                } else {
                    failed++;
                }
            }
        }
        return "{granted=" + granted + ",failed={" + (failed > 0 ? "timeout=" + failed : "") + "}}";
    }

    private String step(String address, String verb, String token, String owner) throws IOException {
        Resource resource = resources.get(address);
        if (resource == null) {
            resource = new Resource(address);
            resources.put(address, resource);
        }
        return String.valueOf(resource.step(verb, Long.parseLong(token), owner));
    }

    private String perform(String verb, List<String> words, Map<String, String> options) throws Exception {
        switch (verb) {
            case "connect":
                return connect(words.get(0), options);
            case "acquire":
                return acquire(words.get(0), words.size() < 2 ? null : timeout(words.get(1)),
                    words.size() < 3 ? 1 : Integer.parseInt(words.get(2)));
            case "release":
                return release(words.get(0));
            case "on_revoke":
                at(words.get(0)).onRevoke(() -> revoked.add(words.get(0)));
                return "true";
            case "revoke":
                return revoke(words.get(0));
            case "events":
                return events();
            case "step":
                return step(words.get(0), words.get(1), words.get(2), words.get(3));
            case "contend":
                return contend(options);
            case "close":
                client.close();
                return "true";
            default:
                throw new IllegalArgumentException("no verb " + verb);
        }
    }

    /** As Lua writes it. */
    private static String quoted(String text) {
        final StringBuilder all = new StringBuilder("\"");
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            all.append(b < ' ' || b == '"' || b == '\\' ? String.format("\\%03d", b & 255) : String.valueOf((char) b));
        }
        return all.append('"').toString();
    }

    private String answer(String line) {
        final List<String> words = new ArrayList<>();
        final Map<String, String> options = new TreeMap<>();
        for (String word : line.split(" ")) {
            final int equals = word.indexOf('=');
            if (equals > 0) {
                options.put(word.substring(0, equals), word.substring(equals + 1));
            } else {
                words.add(word);
            }
        }
        try {
            return "true," + perform(words.remove(0), words, options);
        } catch (Exception e) {
            final StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace));
            return "false," + quoted(trace.toString());
        }
    }

    public static void main(String[] args) throws IOException {
        final Curator self = new Curator();
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("true");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(self.answer(line));
        }
        System.exit(0); // Curator's threads would go on
    }
}
