# SPDX-License-Identifier: MIT
"""A process with kazoo's Lock: spec/support/neighbour.lua says what goes over its pipe."""

import socket
import sys
import traceback

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout


class Resource:
    """A link to spec/support/resource.lua."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.link = socket.create_connection((host, int(port)), 30)
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.link.makefile("r")

    def step(self, verb, token, owner):
        self.link.sendall(f"{verb} {token} {owner}\n".encode())
        answer = self.answers.readline()
        if not answer:
            raise EOFError("the resource has gone")
        return answer == "accepted\n"

    def close(self):
        self.answers.close()
        self.link.close()



def lua(value):
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"[{lua(k)}]={lua(v)}" for k, v in value.items()) + "}"
    plain = (chr(b) if b >= 32 and b not in b'"\\' and b < 127 else f"\\{b:03d}" for b in str(value).encode())
    return '"' + "".join(plain) + '"'


def seconds(word):
    return None if word == "-" else float(word)


class Verbs:
    def __init__(self, patterns):
        self.patterns = patterns
        self.locks = {}
        self.resources = {}

    def connect(self, hosts, session_timeout="10", digest=None):
        auth = [("digest", digest)] if digest else None
        self.client = KazooClient(hosts, timeout=float(session_timeout), auth_data=auth)
        self.client.start(30)
        return (True,)

    def lock(self, name):
        if name not in self.locks:
            kind, _, path = name.rpartition(":")
            make = {"": self.client.Lock, "read": self.client.ReadLock, "write": self.client.WriteLock}[kind]
            self.locks[name] = make(path, extra_lock_patterns=self.patterns)
        return self.locks[name]

    def get(self, name, timeout):
        """The token, which is the creation zxid of the lock's node; None when the time is over."""
        lock = self.lock(name)
        try:
            if not lock.acquire(blocking=timeout != 0, timeout=timeout or None):
                return None
        except LockTimeout:
            return None
        return self.client.exists(f"{lock.path}/{lock.node}").czxid

    def acquire(self, name, timeout="-"):
        token = self.get(name, seconds(timeout))
        return (None, "timeout") if token is None else (token,)

    def release(self, name):
        return (True,) if self.lock(name).release() else (None, "not owner")

    def turn(self, resource, path, timeout, owner, writes):
        """The same as that of spec/support/worker_main.lua."""
        resource.step("ask", 0, owner)
        token = self.get(path, timeout)
        if token is None:
            resource.step("quit", 0, owner)
            return False
        inside = resource.step("enter", token, owner)
        for _ in range(writes):
            inside = inside and resource.step("write", token, owner)
        if inside:
            resource.step("leave", token, owner)
        self.lock(path).release()
        return True

    def contend(self, path, rounds, resource, owner, timeout="-", writes="1"):
        link = Resource(resource)
        granted, failed = 0, 0
        for _ in range(int(rounds)):
            if self.turn(link, path, seconds(timeout), owner, int(writes)):
                granted += 1
            else:
                failed += 1
        link.close()
        return ({"granted": granted, "failed": {"timeout": failed} if failed else {}},)

    def step(self, address, verb, token, owner):
        if address not in self.resources:
            self.resources[address] = Resource(address)
        return (self.resources[address].step(verb, int(token), owner),)

    def write(self, path, data):
        """Makes the node, or writes to it; the data is in hexadecimal digits."""
        data = bytes.fromhex(data)
        if self.client.exists(path):
            return (self.client.set(path, data).version,)
        self.client.create(path, data, makepath=True)
        return (0,)

    def read(self, path):
        """The data in hexadecimal digits ("-": none), its version and its owner."""
        data, stat = self.client.get(path)
        return (data.hex() if data else "-", stat.version, stat.owner_session_id or 0)

    def children(self, path):
        return (" ".join(sorted(self.client.get_children(path))),)

    def events(self):
        return ({},)

    def close(self):
        self.client.stop()
        self.client.close()
        return (True,)


VERBS = {"connect", "acquire", "release", "contend", "step", "write", "read", "children", "events", "close"}


def answer(verbs, line):
    words, options = [], {}
    for word in line.split():
        key, equals, value = word.partition("=")
        if equals:
            options[key] = value
        else:
            words.append(word)
    verb = words.pop(0)
    if verb not in VERBS:
        return (False, f"no verb {verb}")
    try:
        return (True, *getattr(verbs, verb)(*words, **options))
    except Exception:  # the spec gets it, whatever it is
        return (False, traceback.format_exc())


def main():
    verbs = Verbs(sys.argv[1:])
    print("true", flush=True)
    for line in sys.stdin:
        print(",".join(lua(value) for value in answer(verbs, line)), flush=True)


main()
