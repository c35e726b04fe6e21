// SPDX-License-Identifier: MIT
// A process with the Lock of Go's zk library: spec/support/neighbour.lua says what goes over its pipe.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/samuel/go-zookeeper/zk"
)

// A link to spec/support/resource.lua.
type resource struct {
	link    net.Conn
	answers *bufio.Reader
}

func open(address string) (*resource, error) {
	link, err := net.DialTimeout("tcp", address, 30*time.Second)
	if err != nil {
		return nil, err
	}
	return &resource{link, bufio.NewReader(link)}, nil
}

func (r *resource) step(verb string, token int64, owner string) (bool, error) {
	if err := r.link.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return false, err
	}
	if _, err := fmt.Fprintf(r.link, "%s %d %s\n", verb, token, owner); err != nil {
		return false, err
	}
	answer, err := r.answers.ReadString('\n')
	return answer == "accepted\n", err
}

type neighbour struct {
	conn      *zk.Conn
	locks     map[string]*zk.Lock
	resources map[string]*resource
}

type options map[string]string

func (o options) number(name string, otherwise int) (int, error) {
	if text, ok := o[name]; ok {
		return strconv.Atoi(text)
	}
	return otherwise, nil
}

type silent struct{}

func (silent) Printf(string, ...interface{}) {}

func (n *neighbour) connect(hosts string, o options) (string, error) {
	timeout, err := strconv.ParseFloat(o["session_timeout"], 64)
	if err != nil {
		timeout = 10
	}
	conn, events, err := zk.Connect(strings.Split(hosts, ","), time.Duration(timeout*float64(time.Second)),
		zk.WithLogger(silent{}))
	if err != nil {
		return "", err
	}
	n.conn = conn
	late := time.After(30 * time.Second)
	for {
		select {
		case event := <-events:
			if event.State != zk.StateHasSession {
				continue
			}
			if o["digest"] != "" {
				err = conn.AddAuth("digest", []byte(o["digest"]))
			}
			return "true", err
		case <-late:
			return `false,"disconnected"`, nil
		}
	}
}

func (n *neighbour) at(path string) *zk.Lock {
	if n.locks[path] == nil {
		n.locks[path] = zk.NewLock(n.conn, path, zk.WorldACL(zk.PermAll))
	}
	return n.locks[path]
}

// Gives the token: the creation zxid of the lock's node, whose name the library keeps to itself.
func (n *neighbour) lock(path string) (int64, error) {
	lock := n.at(path)
	if err := lock.Lock(); err != nil {
		return 0, err
	}
	node := reflect.ValueOf(lock).Elem().FieldByName("lockPath").String()
	there, stat, err := n.conn.Exists(node)
	if err == nil && !there {
		err = errors.New("granted, but its node is gone: " + node)
	}
	if err != nil {
		return 0, err
	}
	return stat.Czxid, nil
}

func (n *neighbour) release(path string) (string, error) {
	if err := n.at(path).Unlock(); err == zk.ErrNotLocked {
		return `nil,"not owner"`, nil
	} else if err != nil {
		return "", err
	}
	return "true", nil
}

// The same turn as that of spec/support/worker_main.lua.
func (n *neighbour) turn(r *resource, path, owner string, writes int) error {
	if _, err := r.step("ask", 0, owner); err != nil {
		return err
	}
	token, err := n.lock(path)
	if err != nil {
		return err
	}
	inside, err := r.step("enter", token, owner)
	for ; writes > 0 && inside && err == nil; writes-- {
		inside, err = r.step("write", token, owner)
	}
	if inside && err == nil {
		_, err = r.step("leave", token, owner)
	}
	if err != nil {
		return err
	}
	return n.at(path).Unlock()
}

func (n *neighbour) contend(o options) (string, error) {
	if o["timeout"] != "" {
		return "", errors.New("this library waits for ever")
	}
	rounds, err := o.number("rounds", 1)
	if err != nil {
		return "", err
	}
	writes, err := o.number("writes", 1)
	if err != nil {
		return "", err
	}
	r, err := open(o["resource"])
	if err != nil {
		return "", err
	}
	defer r.link.Close()
	for round := 0; round < rounds; round++ {
		if err := n.turn(r, o["path"], o["owner"], writes); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("{granted=%d,failed={}}", rounds), nil
}

func (n *neighbour) step(words []string) (string, error) {
	token, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		return "", err
	}
	r := n.resources[words[0]]
	if r == nil {
		if r, err = open(words[0]); err != nil {
			return "", err
		}
		n.resources[words[0]] = r
	}
	accepted, err := r.step(words[1], token, words[3])
	return strconv.FormatBool(accepted), err
}

func (n *neighbour) perform(verb string, words []string, o options) (string, error) {
	switch verb {
	case "connect":
		return n.connect(words[0], o)
	case "acquire":
		if len(words) > 1 && words[1] != "-" {
			return "", errors.New("this library waits for ever")
		}
		token, err := n.lock(words[0])
		return strconv.FormatInt(token, 10), err
	case "release":
		return n.release(words[0])
	case "contend":
		return n.contend(o)
	case "step":
		return n.step(words)
	case "events":
		return "{}", nil
	case "close":
		n.conn.Close()
		return "true", nil
	}
	return "", errors.New("no verb " + verb)
}

// As Lua writes it.
func quoted(text string) string {
	all := []byte{'"'}
	for _, b := range []byte(text) {
		if b < ' ' || b == '"' || b == '\\' || b > '~' {
			all = append(all, fmt.Sprintf("\\%03d", b)...)
		} else {
			all = append(all, b)
		}
	}
	return string(append(all, '"'))
}

func (n *neighbour) answer(line string) string {
	words, o := []string{}, options{}
	for _, word := range strings.Fields(line) {
		if equals := strings.IndexByte(word, '='); equals > 0 {
			o[word[:equals]] = word[equals+1:]
		} else {
			words = append(words, word)
		}
	}
	result, err := n.perform(words[0], words[1:], o)
	if err != nil {
		return "false," + quoted(err.Error())
	}
	return "true," + result
}

func main() {
	n := &neighbour{locks: map[string]*zk.Lock{}, resources: map[string]*resource{}}
	fmt.Println("true")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(n.answer(lines.Text()))
	}
}
