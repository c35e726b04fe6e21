// SPDX-License-Identifier: MIT
// A contestant's program in Go: does what the lines on its stdin say, as worker.c does. The peer is in peer.go.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

var errLate = errors.New("late")

type peerLock interface {
	// A negative timeout: for ever; 0: one try. errLate when the time is over.
	acquire(timeout time.Duration) (int64, error)
	release() error
	held() string
}

type peerClient interface {
	lock(name string) (peerLock, error)
	close()
}

type round struct {
	contender                                  int
	asked, granted, releasing, released, token int64
}

type worker struct {
	clients []peerClient
	locks   map[peerClient]map[string]peerLock
}

// Of the clock that all processes of the machine share.
func nowUS() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano() / 1000
}

func (w *worker) at(c peerClient, name string) (peerLock, error) {
	if w.locks[c] == nil {
		w.locks[c] = map[string]peerLock{}
	}
	if one := w.locks[c][name]; one != nil {
		return one, nil
	}
	one, err := c.lock(name)
	w.locks[c][name] = one
	return one, err
}

func (w *worker) closeAll() {
	for _, c := range w.clients {
		c.close()
	}
	w.clients, w.locks = nil, map[peerClient]map[string]peerLock{}
}

func (w *worker) open(servers string, ttl, count int) string {
	w.closeAll()
	for i := 0; i < count; i++ {
		c, err := openClient(servers, time.Duration(ttl)*time.Millisecond)
		if err != nil {
			return "no " + err.Error()
		}
		w.clients = append(w.clients, c)
	}
	return "ok"
}

func contend(one peerLock, name int, end time.Time, grace time.Duration, rounds int, hold time.Duration) (log []round,
	failures int) {
	for i := 0; i < rounds && time.Now().Before(end); i++ {
		r := round{contender: name, asked: nowUS()}
		var err error
		r.token, err = one.acquire(time.Until(end) + grace)
		if err != nil {
			if err != errLate {
				failures++
			}
			continue
		}
		r.granted = nowUS()
		if hold > 0 {
			time.Sleep(hold)
		}
		r.releasing = nowUS()
		if one.release() != nil {
			failures++
		}
		r.released = nowUS()
		log = append(log, r)
	}
	return log, failures
}

func (w *worker) run(locks int, name string, ms, rounds, hold int, path string) string {
	count := locks
	if count == 0 {
		count = len(w.clients)
	}
	var all []peerLock
	for i := 0; i < count; i++ {
		c, own := w.clients[0], fmt.Sprintf("%s-%d", name, i)
		if locks == 0 {
			c, own = w.clients[i], name
		}
		one, err := w.at(c, own)
		if err != nil {
			return "no " + err.Error()
		}
		all = append(all, one)
	}
	file, err := os.Create(path)
	if err != nil {
		return "no " + err.Error()
	}
	defer file.Close()
	var group sync.WaitGroup
	var mutex sync.Mutex
	out, sum, failures := bufio.NewWriter(file), 0, 0
	end := time.Now().Add(time.Duration(ms) * time.Millisecond)
	grace := time.Duration(0)
	if locks > 0 { // nobody else wants them: nothing that was asked for is given up
		grace = 20 * time.Second
	}
	for i, one := range all {
		group.Add(1)
		go func(i int, one peerLock) {
			defer group.Done()
			log, failed := contend(one, i, end, grace, rounds, time.Duration(hold)*time.Microsecond)
			mutex.Lock()
			defer mutex.Unlock()
			failures += failed
			for _, r := range log {
				sum++
				fmt.Fprintln(out, r.contender, r.asked, r.granted, r.releasing, r.released, r.token)
			}
		}(i, one)
	}
	group.Wait()
	if err := out.Flush(); err != nil {
		return "no " + err.Error()
	}
	return fmt.Sprint("ok ", sum, " ", failures, " 0")
}

type shop struct {
	link    net.Conn
	answers *bufio.Reader
}

func (s *shop) ask(format string, words ...interface{}) string {
	if _, err := fmt.Fprintf(s.link, format+"\n", words...); err != nil {
		return "closed"
	}
	answer, err := s.answers.ReadString('\n')
	if err != nil {
		return "closed"
	}
	return strings.TrimSpace(answer)
}

// One item: false when the shop is closed.
func (s *shop) sell(one peerLock) bool {
	if s.ask("ask") != "ok" {
		return false
	}
	token, err := one.acquire(time.Second)
	if err != nil {
		if err != errLate {
			time.Sleep(50 * time.Millisecond)
		}
		return s.ask("quit %s", strings.ReplaceAll(err.Error(), "\n", " ")) != "closed"
	}
	if stock, _ := strconv.Atoi(s.ask("enter %d", token)); stock > 0 {
		s.ask("pay")
		s.ask("write %d %d %s", stock-1, token, one.held())
	}
	verdict := "ok"
	if one.release() != nil {
		verdict = "no"
	}
	return s.ask("leave %s", verdict) != "closed"
}

func (w *worker) sell(address, name, buyer string) string {
	one, err := w.at(w.clients[0], name)
	if err != nil {
		return "no " + err.Error()
	}
	link, err := net.Dial("tcp", address)
	if err != nil {
		return "no " + err.Error()
	}
	defer link.Close()
	s := &shop{link, bufio.NewReader(link)}
	s.ask("buyer %s", buyer)
	for s.sell(one) {
	}
	return "ok"
}

func (w *worker) step(words []string) string {
	one, err := w.at(w.clients[0], words[1])
	if err != nil {
		return "no " + err.Error()
	}
	switch words[0] {
	case "acquire":
		ms, _ := strconv.Atoi(words[2])
		token, err := one.acquire(time.Duration(ms) * time.Millisecond)
		if err == errLate {
			return "late"
		}
		if err != nil {
			return "no " + err.Error()
		}
		return fmt.Sprint("ok ", token, " ", nowUS())
	case "release":
		now := nowUS()
		if err := one.release(); err != nil {
			return "no " + err.Error()
		}
		return fmt.Sprint("ok ", now)
	case "held":
		return one.held()
	}
	return "no such verb"
}

func (w *worker) perform(words []string) string {
	numbers := make([]int, len(words))
	for i, word := range words {
		numbers[i], _ = strconv.Atoi(word)
	}
	switch {
	case words[0] == "open" && len(words) == 5:
		return w.open(words[1], numbers[2], numbers[3])
	case words[0] == "close":
		w.closeAll()
		return "ok"
	case len(w.clients) == 0:
		return "no open first"
	case words[0] == "run" && len(words) == 7:
		return w.run(numbers[1], words[2], numbers[3], numbers[4], numbers[5], words[6])
	case words[0] == "sell" && len(words) == 4:
		return w.sell(words[1], words[2], words[3])
	case len(words) >= 2:
		return w.step(words)
	}
	return "no such verb"
}

func main() {
	w := &worker{locks: map[peerClient]map[string]peerLock{}}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) > 0 {
			fmt.Println(w.perform(words))
		}
	}
	w.closeAll()
}
