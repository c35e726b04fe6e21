// SPDX-License-Identifier: MIT
// etcd: its own client's concurrency.Mutex, over a session with a lease that is kept alive. Version 3.4 has no TryLock: one
// try waits a little.
package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

type client struct {
	etcd    *clientv3.Client
	ttl     int
	mutex   sync.Mutex
	session *concurrency.Session
}

type lock struct {
	client  *client
	name    string
	mutex   *concurrency.Mutex
	session *concurrency.Session
}

func openClient(servers string, ttl time.Duration) (peerClient, error) {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(servers, ","), DialTimeout: 20 * time.Second,
		DialKeepAliveTime: ttl, DialKeepAliveTimeout: ttl})
	if err != nil {
		return nil, err
	}
	c := &client{etcd: etcd, ttl: int((ttl + time.Second - 1) / time.Second)}
	_, err = c.live(context.Background())
	return c, err
}

// The session; another one when the old one's lease is over.
func (c *client) live(ctx context.Context) (*concurrency.Session, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.session != nil {
		select {
		case <-c.session.Done():
		default:
			return c.session, nil
		}
	}
	lease, err := c.etcd.Grant(ctx, int64(c.ttl))
	if err != nil {
		return nil, err
	}
	c.session, err = concurrency.NewSession(c.etcd, concurrency.WithTTL(c.ttl), concurrency.WithLease(lease.ID))
	return c.session, err
}

func (c *client) close() {
	_ = c.session.Close()
	_ = c.etcd.Close()
}

func (c *client) lock(name string) (peerLock, error) {
	return &lock{client: c, name: "/contest/" + name}, nil
}

func (l *lock) acquire(timeout time.Duration) (int64, error) {
	ctx, cancel := context.Background(), func() {}
	if timeout == 0 {
		timeout = 300 * time.Millisecond
	}
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	session, err := l.client.live(ctx)
	if err == nil {
		mutex := concurrency.NewMutex(session, l.name)
		if err = mutex.Lock(ctx); err == nil {
			l.mutex, l.session = mutex, session
			return mutex.Header().Revision, nil
		}
	}
	if ctx.Err() != nil {
		return 0, errLate
	}
	return 0, err
}

func (l *lock) release() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return l.mutex.Unlock(ctx)
}

// The lease's end is told by a channel.
func (l *lock) held() string {
	select {
	case <-l.session.Done():
		return "no"
	default:
		return "yes"
	}
}
