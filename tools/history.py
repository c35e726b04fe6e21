# SPDX-License-Identifier: MIT
"""Judges histories of locks from their files alone: exclusion, order of tokens, real-time order.

    python3 tools/history.py FILE...

docs/internals/histories.md describes the files and the rules. It ends with `judged N events, ...: N passed, N failed`:
a run that breaks no rule has passed; one that breaks a rule, and a file with an error, has failed. Status 1: a rule is
broken, and a line names it. Status 2: a line is malformed, a file is cut off, or there was nothing to judge.

It shares no code with the judges of chaos and of the simulation, so that a mistake of theirs is not also one here.
"""

import json
import sys
from bisect import bisect_right

SHOWN = 20  # violations of one run that are described; all are counted
KINDS = ("mutex", "read", "write", "semaphore")


class Malformed(Exception):
    """The file is no history."""


# ---- what a line may have --------------------------------------------------------------------------------------------


def is_text(value):
    return isinstance(value, str) and value != ""


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_number(value):
    return is_count(value) and value > 0


TEXT, COUNT, NUMBER = (is_text, "a text"), (is_count, "an integer >= 0"), (is_number, "an integer > 0")
KIND = (lambda value: value in KINDS, "one of " + ", ".join(KINDS))
CALL = {"process": TEXT, "call": NUMBER}
FIELDS = {  # event -> the fields that it has
    "run": {"source": TEXT, "seed": COUNT},
    "acquire": {**CALL, "path": TEXT, "kind": KIND, "invoke": COUNT, "return": COUNT, "outcome": TEXT},
    "node": {**CALL, "token": NUMBER},
    "sure": {**CALL, "from": COUNT, "until": COUNT},
    "release": {**CALL, "invoke": COUNT, "return": COUNT, "outcome": TEXT},
    "confirmed": {**CALL, "at": COUNT},
    "lost": {**CALL, "at": COUNT},
    "drop": {**CALL, "at": COUNT},
    "close": {"process": TEXT, "at": COUNT},
    "taken": {"process": TEXT, "from": COUNT},
    "end": {"lines": NUMBER},
}
MORE = {  # event -> fields that it may have
    "acquire": {"token": NUMBER, "turn": COUNT, "under": NUMBER, "count": NUMBER, "permits": NUMBER},
    "taken": {"token": NUMBER, "upto": COUNT},
}
ORDER = {"acquire": ("invoke", "return"), "release": ("invoke", "return"), "sure": ("from", "until")}


def wrong(where, field, text):
    raise Malformed(f"{where}: field '{field}': {text}")


def parse(text, where):
    """The line as a dictionary whose fields are all as FIELDS and MORE say."""
    try:
        line = json.loads(text)
    except ValueError as error:
        raise Malformed(f"{where}: not JSON: {error}") from None
    if not isinstance(line, dict):
        raise Malformed(f"{where}: an object expected, got {text.strip()[:40]}")
    event = line.get("event")
    if not isinstance(event, str) or event not in FIELDS:
        wrong(where, "event", "missing" if event is None else f"one of {', '.join(FIELDS)} expected, got {event!r}")
    fields, more = FIELDS[event], MORE.get(event, {})
    for field in fields:
        if field not in line:
            wrong(where, field, "missing")
    for field, value in line.items():
        check = fields.get(field) or more.get(field)
        if check and not check[0](value):
            wrong(where, field, f"{check[1]} expected, got {json.dumps(value)}")
        if not check and field != "event":
            wrong(where, field, f"an event '{event}' has none")
    if event in ORDER:
        before, after = ORDER[event]
        if line[after] < line[before]:
            wrong(where, after, f"{line[after]} is before '{before}', {line[before]}")
    if event == "acquire":
        check_acquire(line, where)
    if event == "taken" and ("token" in line) == ("upto" in line):
        wrong(where, "token", "either that or 'upto' expected")
    return line


def check_acquire(line, where):
    is_granted, is_semaphore = line["outcome"] == "granted", line["kind"] == "semaphore"
    if is_granted != ("token" in line):
        wrong(where, "token", "missing" if is_granted else f"an acquire with outcome {line['outcome']!r} has none")
    for field in ("count", "permits"):
        if is_semaphore != (field in line):
            wrong(where, field, "missing" if is_semaphore else f"a {line['kind']} has none")


# ---- a hold ----------------------------------------------------------------------------------------------------------


class Hold:
    """A granted acquire at one path, and how sure its holder was of it.

    start, until: the span of which it was certain; until is None: it was never certain of anything.
    lo, hi: when it was granted, at the earliest and at the latest, as far as those can tell whom it excludes.
    """

    def __init__(self, line, number):
        self.number, self.process, self.call, self.kind = number, line["process"], line["call"], line["kind"]
        self.path, self.invoke, self.returned = line["path"], line["invoke"], line["return"]
        self.token, self.turn, self.under = line["token"], line.get("turn"), line.get("under")
        self.count, self.permits = line.get("count", 1), line.get("permits")
        self.nodes, self.sures, self.ends, self.voids, self.claim = {self.token}, [], [], [], None
        self.lo, self.hi, self.start, self.until = self.invoke, self.returned, self.returned, None

    def __str__(self):
        turn = "" if self.turn is None else f".{self.turn}"
        leases = f", {self.count} of {self.permits} leases" if self.permits else ""
        return f"{self.process}'s {self.kind} {self.call} (line {self.number}, token {self.token}{turn}{leases})"

    @property
    def rank(self):
        return self.token, -1 if self.turn is None else self.turn

    @property
    def is_shared(self):
        return self.kind == "read"

    def is_under(self, other):
        """Is it a read that was taken under that write?"""
        return self.process == other.process and self.under == other.call and self.token == other.token

    def excludes(self, other):
        return not (self.is_shared and other.is_shared or self.is_under(other) or other.is_under(self))

    def settle(self):
        """Once all is known: the span. A hold that was certain at two moments lasted all the time between."""
        end = min(self.ends + self.voids, default=None)
        until = max((until for _, until in self.sures), default=None)
        if self.claim is not None:
            until = self.claim if until is None else max(until, self.claim)
        if until is not None and end is not None:
            until = min(until, end)
        if until is not None and until > self.start:
            self.until = until


# ---- a run -----------------------------------------------------------------------------------------------------------


class Run:
    """One world of processes, from its line `run` to its line `end`."""

    def __init__(self, line, number):
        self.name = f"{line['source']}, seed {line['seed']}"
        self.number, self.lines, self.calls, self.closed, self.taken = number, 1, {}, {}, {}
        self.violations = []

    def broken(self, text):
        self.violations.append(text)

    def take(self, line, number, where):
        self.lines += 1
        event = line["event"]
        if event == "acquire":
            self.take_acquire(line, number, where)
        elif event == "close":
            self.closed.setdefault(line["process"], []).append(line["at"])
        elif event == "taken":
            self.taken.setdefault(line["process"], []).append(line)
        else:
            holds = self.calls.get((line["process"], line["call"]))
            if not holds:
                wrong(where, "call", f"{line['process']} has no granted acquire {line['call']} in the lines before")
            for hold in holds:
                self.take_more(hold, line, number)

    def take_acquire(self, line, number, where):
        holds = self.calls.setdefault((line["process"], line["call"]), [])
        for other in holds:
            if other.path == line["path"]:
                wrong(where, "call", f"line {other.number} has this call at this path")
        if line["outcome"] == "granted":
            holds.append(Hold(line, number))

    def take_more(self, hold, line, number):
        event = line["event"]
        if event == "sure":
            if any(end < line["from"] for end in hold.ends):
                self.broken(f"{hold.path}: sure after the end: {hold} in line {number}")
            hold.sures.append((line["from"], line["until"]))
        elif event == "node":
            hold.nodes.add(line["token"])
        elif event == "confirmed":
            hold.claim = min(hold.ends, default=line["at"])
        else:
            hold.ends.append(line["invoke"] if event == "release" else line["at"])
            if event == "release" and line["outcome"] == "ok":
                hold.claim = line["invoke"]

    def end_others(self, hold):
        """Applies the lines of its process, and of operators, to a hold."""
        for at in sorted(self.closed.get(hold.process, ())):
            if at >= hold.returned:
                hold.ends.append(at)
                break
        for line in self.taken.get(hold.process, ()):
            if line["token"] in hold.nodes if "token" in line else hold.token <= line["upto"]:
                hold.voids.append(line["from"])

    def judge(self):
        """Ends it: judges each path. Returns how many holds there were."""
        paths, count = {}, 0
        for holds in self.calls.values():
            for hold in holds:
                self.end_others(hold)
                hold.settle()
                paths.setdefault((hold.path, hold.kind == "semaphore"), []).append(hold)
                count += 1
        for (path, is_semaphore), holds in sorted(paths.items()):
            judge = judge_leases if is_semaphore else judge_locks
            for text in check_tokens(holds) + judge(holds):
                self.broken(f"{path}: {text}")
        return count


# ---- rules of all locks ----------------------------------------------------------------------------------------------


def check_tokens(holds):
    """Each token is of one process, and of one grant: but for readers, who may share a node."""
    found, owner, grants = [], {}, {}
    for hold in holds:
        first = owner.setdefault(hold.token, hold)
        if first.process != hold.process:
            found.append(f"one token in two processes: {first}, {hold}")
        if hold.is_shared or hold.turn is None:
            continue
        first = grants.setdefault((hold.token, hold.turn), hold)
        if first is not hold:
            found.append(f"one token for two grants: {first}, {hold}")
    return found


def goes_back(before, after):
    """Has the later one a token that is too small? A turn may be unknown, and readers on one node have the same."""
    if after.token != before.token or before.is_shared or after.is_shared:
        return after.token < before.token
    return None not in (before.turn, after.turn) and after.turn < before.turn


def check_order(holds, others):
    """A hold has a larger token than each of the others that was granted before it for certain."""
    found, largest, place = [], None, 0
    others = sorted(others, key=lambda hold: hold.hi)
    for hold in sorted(holds, key=lambda hold: hold.lo):
        while place < len(others) and others[place].hi < hold.lo:
            if largest is None or others[place].rank > largest.rank:
                largest = others[place]
            place += 1
        # whose node an operator deletes may be granted on it once more before its client hears of that
        if largest is not None and goes_back(largest, hold) and not (hold.until is None and hold.voids):
            found.append(f"the token goes back: {hold} was granted after {largest}")
    return found


# ---- mutexes, and both sides of read-write locks ---------------------------------------------------------------------


class Spans:
    """The certain spans of some holds, by their beginning; of all that begin by a moment, the one that ends last."""

    def __init__(self, holds):
        self.holds = sorted((hold for hold in holds if hold.until is not None), key=lambda hold: hold.start)
        self.starts = [hold.start for hold in self.holds]
        self.last = []
        for hold in self.holds:
            self.last.append(hold if not self.last or hold.until > self.last[-1].until else self.last[-1])

    def last_by(self, moment):
        """Of those that begin then, or before."""
        place = bisect_right(self.starts, moment)
        return self.last[place - 1] if place else None

    def covering(self, moment, hold):
        """One that keeps `hold` from being granted then."""
        one = self.last_by(moment)
        return one if one and one is not hold and one.until > moment and one.excludes(hold) else None


def both(one, other):
    return "a reader beside a writer" if one.is_shared or other.is_shared else "two hold at once"


def check_alone(spans, holds):
    found = []
    for hold in holds:
        if hold.until is None:
            continue
        # Of those that begin at the same moment each is looked at from the others.
        other = spans.last_by(hold.start - 1)
        if other is None or other.until <= hold.start or not other.excludes(hold):
            continue
        found.append(f"{both(other, hold)}: {other}, sure until {other.until}, and {hold}, sure from {hold.start} to {hold.until}")
    return found


def place_grant(spans, hold):
    """Narrows down when it was granted. Returns a text if that cannot have been."""
    keeper = first = spans.covering(hold.lo, hold)
    while keeper and hold.lo <= hold.hi:
        hold.lo = keeper.until
        keeper = spans.covering(hold.lo, hold)
    keeper = spans.covering(hold.hi, hold) if hold.until is None else None
    while keeper and hold.hi >= hold.lo:
        hold.hi = keeper.start - 1
        keeper = spans.covering(hold.hi, hold)
    if hold.lo > hold.hi and not hold.voids:
        return f"granted while others held all the time: {hold} from {hold.invoke} to {hold.returned}, beside {first}"
    if hold.until is not None:
        hold.lo = hold.start  # whoever could be granted before that moment was granted before this one
    return None


def judge_locks(holds):
    alone = [hold for hold in holds if not hold.is_shared]
    shared = [hold for hold in holds if hold.is_shared]
    every, exclusive = Spans(holds), Spans(alone)
    found = check_same_start(every.holds) + check_alone(every, alone) + check_alone(exclusive, shared)
    placed = [place_grant(every, hold) for hold in alone] + [place_grant(exclusive, hold) for hold in shared]
    found += [text for text in placed if text]
    return found + check_order(alone, alone) + check_order(alone, shared) + check_order(shared, alone)


def check_same_start(holds):
    """Those of whose grants two returned at the same moment."""
    found = []
    for one, other in zip(holds, holds[1:]):
        if one.start == other.start and one.excludes(other):
            found.append(f"{both(one, other)}: {one} and {other}, sure from {one.start} on")
    return found


# ---- semaphores ------------------------------------------------------------------------------------------------------


class Load:
    """How many leases are certainly held, at each moment."""

    def __init__(self, holds):
        changes = {}
        for hold in holds:
            if hold.until is not None:
                changes[hold.start] = changes.get(hold.start, 0) + hold.count
                changes[hold.until] = changes.get(hold.until, 0) - hold.count
        self.times, self.loads, load = sorted(changes), [], 0
        for time in self.times:
            load += changes[time]
            self.loads.append(load)

    def at(self, moment):
        place = bisect_right(self.times, moment)
        return self.loads[place - 1] if place else 0

    def least(self, first, last):
        """The least from one moment to another."""
        low, high = bisect_right(self.times, first), bisect_right(self.times, last)
        return min([self.at(first)] + self.loads[low:high])


def judge_leases(holds):
    load, found = Load(holds), []
    for hold in holds:
        permits = hold.permits
        if hold.until is not None and load.at(hold.start) > permits:
            beside = [str(one) for one in holds if one.until is not None and one.start <= hold.start < one.until]
            found.append(f"{load.at(hold.start)} leases of {permits} are held at once: {', '.join(beside)}")
        elif hold.until is None and not hold.voids and load.least(hold.invoke, hold.returned) + hold.count > permits:
            found.append(f"granted while others held all the time: {hold} from {hold.invoke} to {hold.returned}")
    return found + check_order(holds, holds)


# ---- files -----------------------------------------------------------------------------------------------------------


class Verdict:
    def __init__(self):
        self.events = self.holds = self.certain = self.passed = self.failed = 0

    def add(self, run, path):
        self.holds += run.judge()
        self.certain += sum(hold.until is not None for holds in run.calls.values() for hold in holds)
        self.passed += not run.violations
        self.failed += bool(run.violations)
        for text in run.violations[:SHOWN]:
            print(f"{path}: {run.name}: {text}")
        if len(run.violations) > SHOWN:
            print(f"{path}: {run.name}: and {len(run.violations) - SHOWN} more")


def read(path, file, verdict):
    """Judges one run after the other."""
    run = None
    for number, text in enumerate(file, 1):
        where = f"{path}:{number}"
        if not text.endswith("\n"):
            raise Malformed(f"{where}: the line is cut off")
        line = parse(text, where)
        verdict.events += 1
        if (line["event"] == "run") == (run is not None):
            wrong(where, "event", f"the run of line {run.number} has no end" if run else "a run expected first")
        if line["event"] == "run":
            run = Run(line, number)
        elif line["event"] != "end":
            run.take(line, number, where)
        elif line["lines"] != run.lines + 1:
            wrong(where, "lines", f"{line['lines']} lines from the run of line {run.number} on expected, "
                  f"got {run.lines + 1}")
        else:
            verdict.add(run, path)
            run = None
    if run:
        raise Malformed(f"{path}: cut off: the run of line {run.number} has no end")


def judge(paths, verdict):
    """Returns what is wrong with the files themselves."""
    wrong_files = []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                read(path, file, verdict)
        except (Malformed, OSError, UnicodeDecodeError) as error:
            wrong_files.append(f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error))
    if not wrong_files and not verdict.certain:
        wrong_files.append(f"{', '.join(paths)}: judged nothing: no hold was certain for any time")
    return wrong_files


def main(paths):
    if not paths:
        print("usage: python3 tools/history.py FILE...", file=sys.stderr)
        return 2
    verdict = Verdict()
    wrong_files = judge(paths, verdict)
    for text in wrong_files:
        print(f"history.py: {text}", file=sys.stderr)
    sys.stderr.flush()
    print(f"judged {verdict.events} events, {verdict.holds} holds, {verdict.certain} of them certain for some time: "
          f"{verdict.passed} passed, {verdict.failed + len(wrong_files)} failed")
    if wrong_files:
        return 2
    return 1 if verdict.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
