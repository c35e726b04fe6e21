// SPDX-License-Identifier: MIT
// Go's zk: the library's own Lock.
package main

import (
	"errors"
	"strings"
	"time"

	"github.com/samuel/go-zookeeper/zk"
)

type silent struct{}

func (silent) Printf(string, ...interface{}) {}

type client struct{ conn *zk.Conn }

type lock struct {
	client  *client
	path    string
	lock    *zk.Lock
	session int64
}

func openClient(servers string, ttl time.Duration) (peerClient, error) {
	conn, events, err := zk.Connect(strings.Split(servers, ","), ttl, zk.WithLogger(silent{}))
	if err != nil {
		return nil, err
	}
	late := time.After(20 * time.Second)
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				go func() {
					for range events {
					}
				}()
				return &client{conn}, nil
			}
		case <-late:
			return nil, errors.New("no session")
		}
	}
}

func (c *client) close() { c.conn.Close() }

func (c *client) lock(name string) (peerLock, error) {
	return &lock{client: c, path: "/contest/" + name}, nil
}

// The library's Lock has no timeout, and cannot be cancelled: one that waits in vain is given back when it comes.
func (l *lock) acquire(timeout time.Duration) (int64, error) {
	one := zk.NewLock(l.client.conn, l.path, zk.WorldACL(zk.PermAll))
	if timeout < 0 {
		l.lock, l.session = one, l.client.conn.SessionID()
		return 0, one.Lock()
	}
	done := make(chan error, 1)
	go func() { done <- one.Lock() }()
	if timeout == 0 {
		timeout = 300 * time.Millisecond
	}
	select {
	case err := <-done:
		l.lock, l.session = one, l.client.conn.SessionID()
		return 0, err
	case <-time.After(timeout):
		go func() {
			if <-done == nil {
				_ = one.Unlock()
			}
		}()
		return 0, errLate
	}
}

func (l *lock) release() error { return l.lock.Unlock() }

func (l *lock) held() string {
	if l.client.conn.State() == zk.StateHasSession && l.client.conn.SessionID() == l.session {
		return "yes"
	}
	return "no"
}
