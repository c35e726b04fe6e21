# SPDX-License-Identifier: MIT
"""A contestant's program with kazoo's Lock: does what the lines on its stdin say, as worker.c does."""

import logging
import socket
import sys
import threading
import time

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import LockTimeout

logging.disable(logging.CRITICAL)


def now():
    return time.monotonic_ns() // 1000


class Client:
    def __init__(self, servers, ttl):
        self.kazoo = KazooClient(servers, timeout=ttl / 1000)
        self.up = True
        # Its documentation: who holds a lock has to listen for SUSPENDED and LOST.
        self.kazoo.add_listener(self.hear)
        self.kazoo.start(20)

    def hear(self, state):
        self.up = state == KazooState.CONNECTED

    def lock(self, name):
        return self.kazoo.Lock("/contest/" + name)

    def close(self):
        self.kazoo.stop()
        self.kazoo.close()


def acquire(lock, ms):
    try:
        if ms == 0:
            return lock.acquire(blocking=False)
        return lock.acquire(timeout=None if ms < 0 else ms / 1000)
    except LockTimeout:
        return False


class Contender(threading.Thread):
    def __init__(self, lock, number, end, rounds, hold):
        super().__init__()
        self.lock, self.number, self.end, self.rounds, self.hold = lock, number, end, rounds, hold
        self.log, self.failures = [], 0

    def once(self):
        asked = now()
        if not acquire(self.lock, max(1, (self.end - asked) // 1000)):
            return
        granted = now()
        if self.hold > 0:
            time.sleep(self.hold / 1e6)
        releasing = now()
        if not self.lock.release():
            self.failures += 1
        self.log.append((self.number, asked, granted, releasing, now(), 0))

    def run(self):
        for _ in range(self.rounds):
            if now() >= self.end:
                break
            try:
                self.once()
            except Exception:  # whatever the library raises is a round that failed, and counted
                self.failures += 1


class Shop:
    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.link = socket.create_connection((host, int(port)))
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.link.makefile("r")

    def ask(self, *words):
        try:
            self.link.sendall((" ".join(map(str, words)) + "\n").encode("ascii", "replace"))
            return self.answers.readline().strip() or "closed"
        except OSError:
            return "closed"


class Worker:
    def __init__(self):
        self.clients, self.locks = [], {}

    def at(self, name):
        if name not in self.locks:
            self.locks[name] = self.clients[0].lock(name)
        return self.locks[name]

    def close(self):
        for client in self.clients:
            client.close()
        self.clients, self.locks = [], {}
        return "ok"

    def open(self, servers, ttl, count, _way):
        self.close()
        for _ in range(int(count)):
            self.clients.append(Client(servers, int(ttl)))
        return "ok"

    def run(self, locks, name, ms, rounds, hold, path):
        end, locks = now() + int(ms) * 1000, int(locks)
        each = [self.at(f"{name}-{i}") for i in range(locks)] or [one.lock(name) for one in self.clients]
        threads = [Contender(lock, i, end, int(rounds), int(hold)) for i, lock in enumerate(each)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        log = [entry for one in threads for entry in one.log]
        with open(path, "w", encoding="ascii") as file:
            file.writelines(" ".join(map(str, entry)) + "\n" for entry in log)
        return f"ok {len(log)} {sum(one.failures for one in threads)} 0"

    def acquire(self, name, ms):
        return f"ok 0 {now()}" if acquire(self.at(name), int(ms)) else "late"

    def release(self, name):
        began = now()
        return f"ok {began}" if self.at(name).release() else "no it was gone"

    def held(self, name):
        return "yes" if self.clients[0].up and self.at(name).is_acquired else "no"

    def once(self, shop, name):
        """One item: False when the shop is closed."""
        if shop.ask("ask") != "ok":
            return False
        lock = self.at(name)
        try:
            if not acquire(lock, 1000):
                return shop.ask("quit late") != "closed"
        except Exception as problem:  # told to the shop, which logs it
            time.sleep(0.05)
            return shop.ask("quit", repr(problem)) != "closed"
        stock = shop.ask("enter 0")
        if stock not in ("0", "closed"):
            shop.ask("pay")
            shop.ask("write", int(stock) - 1, 0, self.held(name))
        try:
            released = lock.release()
        except Exception:
            released = False
        return shop.ask("leave", "ok" if released else "no") != "closed"

    def sell(self, address, name, buyer):
        shop = Shop(address)
        shop.ask("buyer", buyer)
        while self.once(shop, name):
            pass
        return "ok"


VERBS = {"open", "close", "run", "sell", "acquire", "release", "held"}


def main():
    worker = Worker()
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        try:
            answer = getattr(worker, words[0])(*words[1:]) if words[0] in VERBS else "no such verb"
        except Exception as problem:
            answer = "no " + " ".join(repr(problem).split())
        print(answer, flush=True)
    worker.close()


main()
