# SPDX-License-Identifier: MIT
"""Writes nodes with kazoo, and looks whether what servers have acknowledged is still so: for chaos/acknowledged.lua.

usage: acknowledged.py HOST:PORT,...    When it has begun it says so: `ready`. A line `check` on its input: it stops, waits
for what is on its way, and asks each server behind a sync. It answers with a line of JSON: {"writes": n, "unknown": n,
"found": ["...", ...]}.
"""

import json
import random
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.retry import KazooRetry

FOLDER = "/acknowledged"
NODES = 60  # about so many are there
AT_ONCE = 24  # requests on their way
PATIENCE = 3  # seconds: what is found must still be so then
THERE, GONE, UNKNOWN = "there", "gone", "unknown"


class Writer:
    def __init__(self, hosts):
        self.hosts = hosts
        self.mutex = threading.Condition()
        self.state = {}  # of each node that was ever made: what an answer has said of it last
        self.settled = []  # those that are there, and that nothing is on its way for
        self.ephemeral = set()
        self.pending = self.writes = 0
        self.resting = self.over = False
        self.client = KazooClient(hosts, timeout=20, randomize_hosts=True)
        self.client.add_listener(self.changed)
        self.client.start(60)
        self.client.ensure_path(FOLDER)

    def changed(self, state):
        if state == "LOST":  # the session may be over, and its nodes with it
            with self.mutex:
                for name in self.ephemeral:
                    if self.state[name] == THERE:
                        self.state[name] = UNKNOWN
                self.ephemeral.clear()

    def answered(self, name, outcome, result):
        error = result.exception
        with self.mutex:
            self.pending -= 1
            if error is None:
                self.writes += 1
                if outcome == THERE:
                    self.settled.append(name)
            else:
                outcome = UNKNOWN
            self.state[name] = outcome
            self.mutex.notify_all()

    def step(self, number):
        """One more request."""
        with self.mutex:
            delete = random.random() < len(self.settled) / NODES / 2
            if delete:
                name = self.settled.pop(random.randrange(len(self.settled)))
            else:
                name = f"n{number:09d}"
            ephemeral = not delete and random.random() < 0.5
            if ephemeral:
                self.ephemeral.add(name)
            self.state[name] = UNKNOWN
            self.pending += 1
        path = f"{FOLDER}/{name}"
        try:
            if delete:
                request = self.client.delete_async(path)
            else:
                request = self.client.create_async(path, b"", ephemeral=ephemeral)
        except KazooException:
            with self.mutex:
                self.pending -= 1
            return
        request.rawlink(lambda result: self.answered(name, GONE if delete else THERE, result))

    def write(self):
        number = 0
        while not self.over:
            with self.mutex:
                self.mutex.wait_for(lambda: self.over or (not self.resting and self.pending < AT_ONCE))
            if not self.over and not self.client.connected:
                time.sleep(0.005)
            elif not self.over:
                number += 1
                self.step(number)

    def view(self, host):
        """What one server has."""
        reader = KazooClient(host, timeout=20, connection_retry=KazooRetry(max_tries=-1, max_delay=0.2))
        try:
            reader.start(60)
            insist = KazooRetry(max_tries=100, max_delay=0.2)  # it may lose its leader once more
            insist(reader.sync, FOLDER)
            return set(insist(reader.get_children, FOLDER))
        finally:
            reader.stop()
            reader.close()

    def differences(self, host, names):
        found = []
        for name, state in self.state.items():
            kind = "ephemeral " if name in self.ephemeral else ""
            if state == GONE and name in names:
                found.append(f"{kind}{name} was deleted, and is there again at {host}")
            if state == THERE and name not in names:
                found.append(f"{kind}{name} was created, and is not there at {host}")
        return found

    def check(self):
        with self.mutex:
            self.resting = True
            if not self.mutex.wait_for(lambda: self.pending == 0, 90):
                raise RuntimeError("requests without an answer")
        KazooRetry(max_tries=-1, max_delay=0.2)(self.client.set, FOLDER, b"")  # so the session goes on
        found = []
        views = {host: self.view(host) for host in self.hosts.split(",")}
        if len({frozenset(names) for names in views.values()}) > 1 or self.differences("", next(iter(views.values()))):
            time.sleep(PATIENCE)
            views = {host: self.view(host) for host in self.hosts.split(",")}
        with self.mutex:
            for host, names in views.items():
                found += self.differences(host, names)
            everywhere = set.union(*views.values())
            for name in everywhere - set.intersection(*views.values()):
                found.append(f"{name} is not at all servers")
            unknown = sum(state == UNKNOWN for state in self.state.values())
            self.state = {name: THERE if name in everywhere else GONE for name in self.state}
            self.settled = [name for name, state in self.state.items() if state == THERE]
            writes, self.writes = self.writes, 0
            self.resting = False
            self.mutex.notify_all()
        return {"writes": writes, "unknown": unknown, "found": found}


def main():
    writer = Writer(sys.argv[1])
    thread = threading.Thread(target=writer.write, daemon=True)
    thread.start()
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "check\n":
            print(json.dumps(writer.check()), flush=True)
    writer.over = True
    with writer.mutex:
        writer.mutex.notify_all()
    thread.join()


main()
