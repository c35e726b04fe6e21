// SPDX-License-Identifier: MIT
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** A contestant's program with Curator's InterProcessMutex: does what the lines on its stdin say, as worker.c does. */
final class Contest {
    private static final class Client {
        final CuratorFramework curator;
        volatile boolean up = true;

        Client(String servers, int ttl) throws Exception {
            curator = CuratorFrameworkFactory.builder().connectString(servers).sessionTimeoutMs(ttl)
                .connectionTimeoutMs(ttl).retryPolicy(new ExponentialBackoffRetry(50, 5, 1000)).build();
            // Its documentation: who holds a lock has to listen for SUSPENDED and LOST.
            curator.getConnectionStateListenable().addListener((any, state) -> up = state.isConnected());
            curator.start();
            if (!curator.blockUntilConnected(20, TimeUnit.SECONDS)) {
                throw new IOException("no session");
            }
        }

        InterProcessMutex lock(String name) {
            return new InterProcessMutex(curator, "/contest/" + name);
        }
    }

    private static final class Shop implements AutoCloseable {
        private final Socket link;
        private final BufferedReader in;

        Shop(String address) throws IOException {
            final int colon = address.lastIndexOf(':');
            link = new Socket(InetAddress.getByName(address.substring(0, colon)),
                Integer.parseInt(address.substring(colon + 1)));
            link.setTcpNoDelay(true);
            in = new BufferedReader(new InputStreamReader(link.getInputStream(), StandardCharsets.US_ASCII));
        }

        String ask(String line) {
            try {
                link.getOutputStream().write((line + "\n").getBytes(StandardCharsets.US_ASCII));
                final String answer = in.readLine();
                return answer == null ? "closed" : answer;
            } catch (IOException e) {
                return "closed";
            }
        }

        @Override
        public void close() throws IOException {
            link.close();
        }
    }

    private final List<Client> clients = new ArrayList<>();
    private final Map<String, InterProcessMutex> locks = new HashMap<>();

    private static long now() {
        return System.nanoTime() / 1000; // CLOCK_MONOTONIC
    }

    private static String no(Exception e) {
        return "no " + e.toString().replace('\n', ' ');
    }

    private void closeAll() {
        for (Client one : clients) {
            one.curator.close();
        }
        clients.clear();
        locks.clear();
    }

    private String open(String servers, int ttl, int count) throws Exception {
        closeAll();
        for (int i = 0; i < count; i++) {
            clients.add(new Client(servers, ttl));
        }
        return "ok";
    }

    private InterProcessMutex at(String name) {
        return locks.computeIfAbsent(name, any -> clients.get(0).lock(name));
    }

    private static boolean acquire(InterProcessMutex lock, long timeout) throws Exception {
        if (timeout < 0) {
            lock.acquire();
            return true;
        }
        return lock.acquire(timeout, TimeUnit.MILLISECONDS);
    }

    private static final class Contender implements Runnable {
        private final InterProcessMutex lock;
        private final int number;
        private final int hold;
        private final long end;
        private long rounds;
        private int failures;
        private final List<long[]> log = new ArrayList<>();

        Contender(InterProcessMutex lock, int number, long ms, long rounds, int hold) {
            this.lock = lock;
            this.number = number;
            this.rounds = rounds;
            this.hold = hold;
            end = now() + ms * 1000;
        }

        private void once() throws Exception {
            final long asked = now();
            if (!acquire(lock, Math.max(0, (end - asked) / 1000))) {
                return;
            }
            final long granted = now();
            if (hold > 0) {
                TimeUnit.MICROSECONDS.sleep(hold);
            }
            final long releasing = now();
            lock.release();
            log.add(new long[] {number, asked, granted, releasing, now(), 0});
        }

        @Override
        public void run() {
            while (rounds-- > 0 && now() < end) {
                try {
                    once();
                } catch (Exception e) {
                    failures++;
                }
            }
        }
    }

    private String run(int count, String name, long ms, long rounds, int hold, String path) throws Exception {
        final List<Contender> all = new ArrayList<>();
        final List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < (count == 0 ? clients.size() : count); i++) {
            all.add(new Contender(count == 0 ? clients.get(i).lock(name) : at(name + "-" + i), i, ms, rounds, hold));
        }
        for (Contender one : all) {
            threads.add(new Thread(one));
        }
        for (Thread one : threads) {
            one.start();
        }
        int sum = 0;
        int failures = 0;
        try (PrintWriter out = new PrintWriter(path, "US-ASCII")) {
            for (int i = 0; i < all.size(); i++) {
                threads.get(i).join();
                failures += all.get(i).failures;
                for (long[] r : all.get(i).log) {
                    sum++;
                    out.println(r[0] + " " + r[1] + " " + r[2] + " " + r[3] + " " + r[4] + " " + r[5]);
                }
            }
        }
        return "ok " + sum + " " + failures + " 0";
    }

    private String held(InterProcessMutex lock) {
        return clients.get(0).up && lock.isAcquiredInThisProcess() ? "yes" : "no";
    }

    private static boolean released(InterProcessMutex lock) {
        try {
            lock.release();
            return true;
        } catch (Exception e) {
            return false;
        }
    }

    /** One item: false when the shop is closed. */
    private boolean sell(Shop shop, InterProcessMutex lock) throws InterruptedException {
        if (!shop.ask("ask").equals("ok")) {
            return false;
        }
        try {
            if (!acquire(lock, 1000)) {
                return !shop.ask("quit late").equals("closed");
            }
        } catch (Exception e) {
            Thread.sleep(50);
            return !shop.ask("quit " + no(e)).equals("closed");
        }
        final String stock = shop.ask("enter 0");
        if (!stock.equals("0") && !stock.equals("closed")) {
            shop.ask("pay");
            shop.ask("write " + (Integer.parseInt(stock) - 1) + " 0 " + held(lock));
        }
        return !shop.ask("leave " + (released(lock) ? "ok" : "no")).equals("closed");
    }

    private String sellAll(String address, String name, String buyer) throws Exception {
        final InterProcessMutex lock = at(name);
        try (Shop shop = new Shop(address)) {
            shop.ask("buyer " + buyer);
            while (sell(shop, lock)) {
                continue;
            }
        }
        return "ok";
    }

    private String perform(String[] words) throws Exception {
        switch (words[0]) {
            case "open":
                return open(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]));
            case "close":
                closeAll();
                return "ok";
            case "run":
                return run(Integer.parseInt(words[1]), words[2], Long.parseLong(words[3]), Long.parseLong(words[4]),
                    Integer.parseInt(words[5]), words[6]);
            case "sell":
                return sellAll(words[1], words[2], words[3]);
            case "acquire":
                return acquire(at(words[1]), Long.parseLong(words[2])) ? "ok 0 " + now() : "late";
            case "release":
                final long began = now();
                at(words[1]).release();
                return "ok " + began;
            case "held":
                return held(at(words[1]));
            default:
                return "no such verb";
        }
    }

    public static void main(String[] arguments) throws IOException {
        final Contest contest = new Contest();
        final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = contest.perform(line.trim().split(" +"));
            } catch (Exception e) {
                answer = no(e);
            }
            System.out.println(answer);
        }
        contest.closeAll();
    }
}
