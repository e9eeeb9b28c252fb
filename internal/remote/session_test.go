// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// pipe serves an engine over a connection in memory, and returns the client's end.
func pipe(t *testing.T, engine kv.Database, writes bool) net.Conn {
	here, there := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		serveConn(t.Context(), there, engine, writes)
	}()
	t.Cleanup(func() {
		here.Close()
		<-served
	})
	return here
}

// attach returns a database over such a connection.
func attach(t *testing.T, engine kv.Database, writes bool) *Database {
	t.Helper()
	db, err := open("the program", func() (io.ReadWriteCloser, error) { return pipe(t, engine, writes), nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// TestIdleTransactions: one of which nothing is asked for five seconds can neither read nor commit, and is retried. One
// with a watch keeps it.
func TestIdleTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := attach(t, enginetest.InProcess(t), true)
		var fired kv.Future[struct{}]
		attempts := 0
		err := db.Transact(t.Context(), func(tx kv.Transaction) error {
			attempts++
			if err := tx.SetOption(kv.OptionRetryLimit, 5); err != nil {
				return err
			}
			tx.Set([]byte("attempt"), fmt.Append(nil, attempts))
			fired = tx.Watch([]byte("watched"))
			if attempts == 1 {
				time.Sleep(2 * kv.MaxTransactionAge)
			}
			return nil
		})
		if err != nil || attempts != 2 {
			t.Fatalf("%v after %d attempts", err, attempts)
		}
		time.Sleep(time.Hour)
		put := func(tx kv.Transaction) error { tx.Set([]byte("watched"), []byte("x")); return nil }
		if err := db.Transact(t.Context(), put); err != nil {
			t.Fatal(err)
		}
		if _, err := fired.Get(t.Context()); err != nil {
			t.Errorf("the watch: %v", err)
		}
	})
}

// TestReadOnly: a commit that writes is refused, and one that reads is not.
func TestReadOnly(t *testing.T) {
	engine := enginetest.InProcess(t)
	db := attach(t, engine, false)
	for name, write := range map[string]func(kv.Transaction){
		"set":         func(tx kv.Transaction) { tx.Set([]byte("k"), []byte("v")) },
		"clear":       func(tx kv.Transaction) { tx.Clear([]byte("k")) },
		"clear range": func(tx kv.Transaction) { tx.ClearRange(kv.KeyRange{Begin: []byte("a"), End: []byte("z")}) },
		"atomic":      func(tx kv.Transaction) { tx.Atomic(kv.Add, []byte("k"), kv.Int64(1)) },
		"conflict":    func(tx kv.Transaction) { _ = tx.AddWriteConflictKey([]byte("k")) },
	} {
		err := db.Transact(t.Context(), func(tx kv.Transaction) error { write(tx); return nil })
		if kv.CodeOf(err) != kv.CodeTransactionReadOnly || !strings.Contains(err.Error(), "for reading only") {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := db.Transact(t.Context(), func(tx kv.Transaction) error {
		value, err := tx.Get([]byte("k")).Get(t.Context())
		if value != nil {
			t.Errorf("k is %q", value)
		}
		return err
	})
	if err != nil {
		t.Errorf("a commit that reads: %v", err)
	}
}

// TestLostAcknowledgement: the connection ends after the commit was sent.
func TestLostAcknowledgement(t *testing.T) {
	here, there := net.Pipe()
	db, err := open("the program", func() (io.ReadWriteCloser, error) { return here, nil })
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		from := gob.NewDecoder(there)
		for req := (Request{}); req.Verb != commit; {
			if err := from.Decode(&req); err != nil {
				t.Error(err)
				break
			}
		}
		there.Close()
	}()
	attempts := 0
	err = db.Transact(t.Context(), func(tx kv.Transaction) error { attempts++; tx.Set([]byte("k"), nil); return nil })
	if !errors.Is(err, kv.ErrOutcomeUnknown) || !strings.Contains(err.Error(), "the program has ended the connection") || attempts != 1 {
		t.Errorf("%v after %d attempts", err, attempts)
	}
}

// TestHostileClients: what a client may do wrong ends at most its own connection, or fails its own transaction.
func TestHostileClients(t *testing.T) {
	engine := enginetest.InProcess(t)
	t.Run("a request without end", func(t *testing.T) {
		conn := pipe(t, engine, true)
		n, err := io.Copy(conn, io.MultiReader(strings.NewReader("\xfc\x7f\xff\xff\xff"), zeros{}))
		if err == nil || n > 2*maxRequest {
			t.Errorf("%d bytes were taken: %v", n, err)
		}
	})
	t.Run("no calls at all", func(t *testing.T) {
		conn := pipe(t, engine, true)
		if _, err := io.Copy(conn, strings.NewReader(strings.Repeat("GET / HTTP/1.1\r\n", 1000))); err == nil {
			t.Error("they were taken")
		}
	})
	t.Run("a verb that is not known", func(t *testing.T) {
		c := newConnection(pipe(t, engine, true), "the program")
		defer c.end(kv.ErrClosed)
		if _, err := c.send(Request{Tx: 1, Verb: 99}).wait(); err == nil || !strings.Contains(err.Error(), "different versions") {
			t.Error(err)
		}
	})
	t.Run("many transactions", func(t *testing.T) {
		c := newConnection(pipe(t, engine, true), "the program")
		defer c.end(kv.ErrClosed)
		for i := range uint64(maxTransactions) {
			c.send(Request{Tx: i, Verb: cancel})
		}
		if _, err := c.send(Request{Tx: maxTransactions, Verb: get}).wait(); kv.CodeOf(err) != kv.CodeClientInvalidOperation {
			t.Error(err)
		}
		c.send(Request{Tx: 7, Verb: end})
		if _, err := c.send(Request{Tx: maxTransactions, Verb: get, Key: []byte("k")}).wait(); err != nil {
			t.Errorf("after one has ended: %v", err)
		}
	})
	t.Run("many bytes", func(t *testing.T) {
		c := newConnection(pipe(t, engine, true), "the program")
		defer c.end(kv.ErrClosed)
		value := make([]byte, kv.MaxValueSize)
		for i := range maxWritten/kv.MaxValueSize + 1 {
			c.send(Request{Tx: uint64(i % 10), Verb: set, Key: fmt.Append(nil, i), Value: value})
		}
		failed := 0
		for i := range uint64(10) {
			if _, err := c.send(Request{Tx: i, Verb: commit}).wait(); kv.CodeOf(err) == kv.CodeTransactionTooLarge {
				failed++
			}
			c.send(Request{Tx: i, Verb: reset})
			c.send(Request{Tx: i, Verb: set, Key: []byte("k"), Value: value})
			if _, err := c.send(Request{Tx: i, Verb: commit}).wait(); err != nil {
				t.Errorf("after the reset: %v", err)
			}
		}
		if failed == 0 {
			t.Error("every commit succeeded")
		}
	})
	t.Run("answers that are not read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			engine := enginetest.InProcess(t)
			conn := pipe(t, engine, true)
			to := gob.NewEncoder(conn)
			for i := uint64(1); ; i++ {
				if err := to.Encode(Request{Call: i, Verb: get, Key: []byte("k")}); err != nil {
					break // the session has given up
				}
			}
		})
	})
}

// zeros is data without end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// TestCommitGoesOn: a commit that the client has begun is made, although its connection ends.
func TestCommitGoesOn(t *testing.T) {
	engine := enginetest.InProcess(t)
	for i := range 20 {
		c := newConnection(pipe(t, engine, true), "the program")
		c.send(Request{Tx: 1, Verb: set, Key: fmt.Append(nil, i), Value: []byte("v")})
		c.send(Request{Tx: 1, Verb: commit})
		if _, err := c.send(Request{Tx: 2, Verb: get, Key: []byte("x")}).wait(); err != nil { // the server has read the commit
			t.Fatal(err)
		}
		c.end(kv.ErrClosed)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range 20 {
		for {
			got, err := kv.ReadTransact(ctx, engine, func(tx kv.ReadTransaction) ([]byte, error) { return tx.Get(fmt.Append(nil, i)).Get(ctx) })
			if err != nil {
				t.Fatal(err)
			}
			if got != nil {
				break
			}
		}
	}
}

// TestManyVersionstamps: too many that wait are refused, and those that are there make room. Watches are counted apart.
func TestManyVersionstamps(t *testing.T) {
	db := attach(t, enginetest.InProcess(t), true)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	stamps := make([]kv.Future[[]byte], maxLasting+1)
	for i := range stamps {
		stamps[i] = tx.GetVersionstamp()
	}
	if _, err := stamps[maxLasting].Get(t.Context()); kv.CodeOf(err) != kv.CodeTooManyWatches {
		t.Errorf("one too many: %v", err)
	}
	fired := setTwice(t, db)
	if _, err := fired.Get(t.Context()); err != nil {
		t.Errorf("a watch while versionstamps wait: %v", err)
	}
	tx.Reset()
	for _, stamp := range stamps[:maxLasting] {
		if _, err := stamp.Get(t.Context()); err == nil {
			t.Fatal("a transaction that was reset has a versionstamp")
		}
	}
	stamp := tx.GetVersionstamp()
	tx.Set([]byte("k"), nil)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := stamp.Get(t.Context()); err != nil {
		t.Errorf("a versionstamp when there is room: %v", err)
	}
}

// setTwice sets a key, watches it, and sets it again.
func setTwice(t *testing.T, db kv.Database) (fired kv.Future[struct{}]) {
	t.Helper()
	for _, value := range []string{"a", "b"} {
		if err := db.Transact(t.Context(), func(tx kv.Transaction) error {
			tx.Set([]byte("watched"), []byte(value))
			if value == "a" {
				fired = tx.Watch([]byte("watched"))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return fired
}

// TestBytesOfConflictRanges: what read conflict ranges take is bounded as writes are, and does not make a commit one
// that writes.
func TestBytesOfConflictRanges(t *testing.T) {
	db := attach(t, enginetest.InProcess(t), false)
	key := make([]byte, kv.MaxKeySize-1)
	add := func(n int) error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer tx.Release()
		for i := range n {
			key[0], key[1] = byte(i), byte(i>>8)
			if err := tx.AddReadConflictKey(key); err != nil {
				return err
			}
		}
		return tx.Commit(t.Context())
	}
	if err := add(1); err != nil {
		t.Errorf("one: %v", err)
	}
	if err := add(maxWritten / len(key)); kv.CodeOf(err) != kv.CodeTransactionTooLarge || !strings.Contains(err.Error(), "of the connection") {
		t.Errorf("many: %v", err)
	}
}
