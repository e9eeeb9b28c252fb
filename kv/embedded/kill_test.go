// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// What a process that a test starts is to do, and where.
const (
	childTask = "EMBEDDED_TEST_TASK"
	childDir  = "EMBEDDED_TEST_DIR"
)

// startChild starts the test binary with a task, and returns its output.
func startChild(t *testing.T, task, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childTask+"="+task, childDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewReader(out)
}

// die ends a process that a test has started.
func die(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// holdUntilKilled opens the database and says so.
func holdUntilKilled(dir string) {
	if _, err := Open(dir); err != nil {
		die(err)
	}
	fmt.Println("open")
	select {}
}

// writeUntilKilled commits numbered transactions and prints each number once it
// was acknowledged. Commits leave the window at once, and the log is short.
func writeUntilKilled(dir string) {
	db, err := OpenWith(dir, Options{window: 1, segmentSize: 2000, flushAt: 8000, noAbsorb: true})
	if err != nil {
		die(err)
	}
	first, err := lastNumber(db)
	if err != nil {
		die(err)
	}
	go func() {
		for {
			if err := db.disk.absorber.pass(); err != nil {
				die(err)
			}
		}
	}()
	for i := first + 1; ; i++ {
		err := db.Transact(context.Background(), func(tx kv.Transaction) error {
			writeNumbered(tx, i)
			return nil
		})
		if err != nil {
			die(err)
		}
		fmt.Println(i)
	}
}

// numberedKept is how many of the numbered transactions are not cleared again.
const numberedKept = 20

// writeNumbered makes transaction i of a series: it sets the pairs i/0 to i/2
// and last, and clears those of an earlier transaction, in one of two ways.
func writeNumbered(tx kv.Transaction, i int) {
	for part := range 3 {
		tx.Set(numberedKey(i, part), fmt.Append(nil, i))
		if old := i - numberedKept; old > 0 && old%2 == 0 {
			tx.Clear(numberedKey(old, part))
		}
	}
	if old := i - numberedKept; old > 0 && old%2 == 1 {
		tx.ClearRange(kv.KeyRange{Begin: numberedKey(old, 0), End: numberedKey(old, 9)})
	}
	tx.Set([]byte("last"), fmt.Append(nil, i))
	tx.Atomic(kv.Add, []byte("count"), []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

func numberedKey(i, part int) []byte { return fmt.Appendf(nil, "%08d/%d", i, part) }

// lastNumber returns the number of the last transaction that is there.
func lastNumber(db *Database) (n int, err error) {
	err = db.ReadTransact(context.Background(), func(tx kv.ReadTransaction) error {
		value, err := tx.Get([]byte("last")).Get(context.Background())
		if err != nil || value == nil {
			return err
		}
		_, err = fmt.Sscan(string(value), &n)
		return err
	})
	return n, err
}

// checkNumbered returns the number of the last transaction that a database
// holds, having checked that those before are there and none after, all whole.
func checkNumbered(t testing.TB, db *Database) int {
	t.Helper()
	last, err := lastNumber(db)
	if err != nil {
		t.Fatal(err)
	}
	var want pairs
	for i := max(1, last-numberedKept+1); i <= last; i++ {
		for part := range 3 {
			want = append(want, [2]string{string(numberedKey(i, part)), fmt.Sprint(i)})
		}
	}
	if last > 0 {
		sum := string([]byte{byte(last), byte(last >> 8), byte(last >> 16), 0, 0, 0, 0, 0})
		want = append(want, [2]string{"count", sum}, [2]string{"last", fmt.Sprint(last)})
	}
	var got pairs
	err = db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) (err error) {
		got, err = readPairs(tx, everything, kv.RangeOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("after %d transactions the database holds\n%q\nwant\n%q", last, got, want)
	}
	return last
}

// seeded returns a source of chance and prints its seed.
func seeded(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestKill kills a process that commits, again and again: what it has printed
// must be there.
func TestKill(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	random, dir, seen := seeded(t), t.TempDir(), 0
	for range rounds {
		cmd, out := startChild(t, "write", dir)
		printed := readNumbers(t, out, random.IntN(300))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(out)
		if err != nil && !errors.Is(err, os.ErrClosed) {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		seen = max(seen, printed, lastWhole(string(rest)))
		db := openDir(t, dir)
		last := checkNumbered(t, db)
		if last < seen || last > seen+1 {
			t.Errorf("transaction %d is the last, but %d was acknowledged", last, seen)
		}
		seen = last
		closeTest(t, db)
	}
	t.Logf("%d transactions in %d rounds", seen, rounds)
}

func openDir(t *testing.T, dir string) *Database {
	t.Helper()
	db, err := OpenWith(dir, Options{noAbsorb: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// readNumbers reads lines and returns the number on the last.
func readNumbers(t *testing.T, out *bufio.Reader, lines int) (n int) {
	t.Helper()
	for range lines {
		if _, err := fmt.Fscanln(out, &n); err != nil {
			t.Fatalf("the process ended: %v", err)
		}
	}
	return n
}

// lastWhole returns the number on the last complete line.
func lastWhole(text string) (n int) {
	lines := strings.Split(text, "\n")
	if len(lines) >= 2 {
		_, _ = fmt.Sscan(lines[len(lines)-2], &n)
	}
	return n
}

// TestLock opens a folder that another process, and then this one, has open.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	cmd, out := startChild(t, "hold", dir)
	if line, err := out.ReadString('\n'); line != "open\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	expectLocked(t, dir, cmd.Process.Pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed

	db := openDir(t, dir)
	expectLocked(t, dir, os.Getpid())
	expectLocked(t, filepath.Join(dir, "..", filepath.Base(dir)), os.Getpid())
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key"), nil) })
	closeTest(t, db)
	closeTest(t, openDir(t, dir))
}

func expectLocked(t *testing.T, dir string, pid int) {
	t.Helper()
	db, err := Open(dir)
	if err == nil {
		_ = db.Close()
		t.Fatal("the folder was opened twice")
	}
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != pid {
		t.Fatalf("the error is %#v (%v), want a LockedError of process %d", err, err, pid)
	}
}
