// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"net"
	"time"
)

// Limits of a connection to another node.
const (
	queueLength  = 256
	dialTimeout  = 200 * time.Millisecond
	writeTimeout = 500 * time.Millisecond
	redialAfter  = 20 * time.Millisecond
)

// peer sends frames to another node.
type peer struct {
	id          uint64
	address     func(id uint64) string
	queue       chan []byte
	unreachable chan<- uint64 // gets losses, as far as it has room
}

// send queues a frame, or loses it.
func (p *peer) send(frame []byte) {
	select {
	case p.queue <- frame:
	default:
		p.reportLoss()
	}
}

func (p *peer) reportLoss() {
	select {
	case p.unreachable <- p.id:
	default:
	}
}

// sendAll sends frames until the context ends. After a failure it connects again for the next frame.
func (p *peer) sendAll(ctx context.Context) {
	for ctx.Err() == nil {
		if conn := p.dial(ctx); conn != nil {
			p.writeTo(ctx, conn)
		}
		p.reportLoss()
		select {
		case <-ctx.Done():
		case <-time.After(redialAfter):
		}
	}
}

// dial connects when there is a frame to send.
func (p *peer) dial(ctx context.Context) net.Conn {
	select {
	case <-ctx.Done():
		return nil
	case frame := <-p.queue:
		dialer := net.Dialer{Timeout: dialTimeout}
		conn, err := dialer.DialContext(ctx, "tcp", p.address(p.id))
		if err != nil {
			return nil
		}
		if write(conn, frame) != nil {
			conn.Close()
			return nil
		}
		return conn
	}
}

// writeTo writes frames until the context ends or one cannot be written.
func (p *peer) writeTo(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case frame := <-p.queue:
			if write(conn, frame) != nil {
				return
			}
		}
	}
}

func write(conn net.Conn, frame []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := conn.Write(frame)
	return err
}
