// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/examples/raft/core"
	"github.com/kazahana-db/kazahana/examples/raft/node"
	"github.com/kazahana-db/kazahana/rafttimer"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group is nodes with new disks. Members without a node have a listener.
type group struct {
	*testing.T
	listeners []net.Listener // of node i+1
	disk      func(core.Disk) core.Disk
}

func newGroup(t *testing.T, n int) *group {
	g := &group{T: t, disk: func(d core.Disk) core.Disk { return d }}
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		g.listeners = append(g.listeners, l)
	}
	return g
}

func (g *group) address(id uint64) string { return g.listeners[id-1].Addr().String() }

func (g *group) start(id uint64) *node.Node {
	g.Helper()
	var members []uint64
	for i := range g.listeners {
		members = append(members, uint64(i+1))
	}
	disk, err := core.NewMemoryDisk(members)
	if err != nil {
		g.Fatal(err)
	}
	n, err := node.Start(node.Options{ID: id, Members: members, Address: g.address, Listener: g.listeners[id-1], Disk: g.disk(disk)})
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { n.Close() })
	return n
}

// patience is for tests that wait for what must happen.
func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// put sets the key, and repeats that if a leader is lost.
func put(ctx context.Context, n *node.Node, value string) error {
	for {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := n.Put(limited, "key", value)
		cancel()
		if !errors.Is(err, node.ErrOutcomeUnknown) || ctx.Err() != nil {
			return err
		}
	}
}

// checkServes checks that a write at one node is read at another.
func checkServes(t *testing.T, writer, reader *node.Node, value string) {
	t.Helper()
	ctx := patience(t)
	if err := put(ctx, writer, value); err != nil {
		t.Fatal(err)
	}
	if got, found, err := reader.Get(ctx, "key"); err != nil || !found || got != value {
		t.Errorf("read %d bytes, %v, %v; want %d", len(got), found, err, len(value))
	}
}

// TestSlowPeer: a member accepts connections and never reads. The other two serve, although their
// messages to it fill all buffers.
func TestSlowPeer(t *testing.T) {
	g := newGroup(t, 3)
	a, b := g.start(1), g.start(2)
	for range 20 {
		checkServes(t, a, b, strings.Repeat("x", 1<<19))
	}
}

// TestDeadPeer: a member refuses connections.
func TestDeadPeer(t *testing.T) {
	g := newGroup(t, 3)
	g.listeners[2].Close()
	a, b := g.start(1), g.start(2)
	checkServes(t, a, b, "1")
	checkServes(t, b, a, "2")
}

// TestBadFrames: clients that send bytes which are not messages are cut off, and the node serves.
func TestBadFrames(t *testing.T) {
	g := newGroup(t, 2)
	a, b := g.start(1), g.start(2)
	for name, data := range map[string]string{
		"too long":     "\xff\xff\xff\xff",
		"no protobuf":  "\x00\x00\x00\x03\xff\xff\xff",
		"from nobody":  "\x00\x00\x00\x00",
		"cut":          cutFrame,
		"from outside": "\x00\x00\x00\x06\x08\x08\x10\x01\x18\x09", // from 9 to 1
		"for another":  "\x00\x00\x00\x06\x08\x08\x10\x02\x18\x02", // from 2 to 2
	} {
		t.Run(name, func(t *testing.T) { expectCutOff(t, g.address(1), data) })
	}
	checkServes(t, a, b, "value")
}

// cutFrame ends before its length says.
const cutFrame = "\x00\x00\x00\x09ab"

func expectCutOff(t *testing.T, address, data string) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, data); err != nil {
		t.Fatal(err)
	}
	if data == cutFrame {
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
		t.Errorf("the connection stays open: %v", err)
	}
}

// TestWithoutMajority checks the errors of calls with a context that ends.
func TestWithoutMajority(t *testing.T) {
	n := newGroup(t, 3).start(1)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(cause) })
	if err := n.Put(ctx, "key", "value"); !errors.Is(err, cause) {
		t.Errorf("Put returns %v", err)
	}
	if _, _, err := n.Get(ctx, "key"); !errors.Is(err, cause) {
		t.Errorf("Get returns %v", err)
	}
}

func TestClosed(t *testing.T) {
	n := newGroup(t, 3).start(1)
	waiting := make(chan error)
	go func() { waiting <- n.Put(t.Context(), "key", "value") }()
	for range 2 {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	for err := range map[error]bool{<-waiting: true, n.Put(t.Context(), "key", "value"): true} {
		if !errors.Is(err, node.ErrClosed) {
			t.Errorf("Put returns %v", err)
		}
	}
	if _, _, err := n.Get(t.Context(), "key"); !errors.Is(err, node.ErrClosed) {
		t.Errorf("Get returns %v", err)
	}
}

var errDisk = errors.New("disk failure")

type failingDisk struct{ core.Disk }

func (failingDisk) Save(*raftpb.HardState, []*raftpb.Entry, *raftpb.Snapshot) error { return errDisk }

// TestDiskFails checks that a node ends if its disk fails, and says why.
func TestDiskFails(t *testing.T) {
	g := newGroup(t, 1)
	g.disk = func(d core.Disk) core.Disk { return failingDisk{d} }
	n := g.start(1)
	if err := n.Put(patience(t), "key", "value"); !errors.Is(err, node.ErrClosed) || !errors.Is(err, errDisk) {
		t.Errorf("Put returns %v", err)
	}
	if err := n.Close(); !errors.Is(err, errDisk) {
		t.Errorf("Close returns %v", err)
	}
}

func TestBadOptions(t *testing.T) {
	n, err := node.Start(node.Options{ID: 4, Members: []uint64{1, 2, 3}, Timing: rafttimer.Config{HeartbeatInterval: -1}})
	for _, fault := range []string{"Members", "Address", "Listener", "Disk", "HeartbeatInterval"} {
		if !strings.Contains(fmt.Sprint(err), fault) {
			t.Errorf("%v, %v does not mention %s", n, err, fault)
		}
	}
}
