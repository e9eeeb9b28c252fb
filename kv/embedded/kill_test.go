// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
)

// TestMain runs the tests or, in a process that a test has started, does what
// that test wants.
func TestMain(m *testing.M) {
	ryw.Unattended = 500 * time.Millisecond // recorded misuse comes before the commit is over, on slow machines too
	task, how, _ := strings.Cut(os.Getenv(childTask), " ")
	switch dir := os.Getenv(childDir); task {
	case "write":
		writeUntilKilled(dir, how)
	case "try":
		tryToOpen(dir)
	case "hold":
		holdUntilKilled(dir)
	case "backup":
		backUpUntilKilled(dir)
	default:
		os.Exit(m.Run())
	}
}

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

// writeUntilKilled opens the database, checks it, and commits series until it is
// killed. It prints what it has found and each transaction that was acknowledged.
func writeUntilKilled(dir, how string) {
	fmt.Println("opening")
	db, err := Open(dir, killOptions[how])
	if err != nil {
		die(err)
	}
	last, err := readSeries(context.Background(), db)
	if err != nil {
		die(err)
	}
	fmt.Println("found", last[0], last[1], last[2], last[3])
	for w := range last {
		go func() {
			for i := last[w] + 1; ; i++ {
				if err := commitSeries(context.Background(), db, w, i); err != nil {
					die(err)
				}
				fmt.Println("ack", w, i)
			}
		}()
	}
	for killOptions[how].noAbsorb {
		if err := db.disk.absorber.Pass(); err != nil {
			die(err)
		}
	}
	select {}
}

// killOptions are the ways in which the process that is killed opens. In the
// first two commits leave the window at once, and the log is short.
var killOptions = map[string]Options{
	"synced":   {window: 1, segmentSize: 2000, flushAt: 8000, noAbsorb: true},
	"unsynced": {window: 1, segmentSize: 2000, flushAt: 8000, noAbsorb: true, NoSync: true},
	"usual":    {},
}

// TestKill kills a process that opens a database and commits, again and again, at
// random moments. The next process on the folder must find what was printed, and
// of each writer at most one transaction more.
func TestKill(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 40
	}
	random := seed.Rand(t)
	var k killRun
	for round := range rounds {
		if round%25 == 0 {
			k.folders = append(k.folders, &killedFolder{dir: filepath.Join(tempDir(t, round%125 > 0), "db")})
		}
		f := k.folders[max(0, len(k.folders)-1-random.IntN(3))]
		k.round(t, f, random)
	}
	for _, f := range k.folders {
		db := openDir(t, f.dir)
		last, err := readSeries(t.Context(), db)
		if err != nil {
			t.Error(err)
		}
		f.compare(t, last)
		closeTest(t, db)
	}
	t.Logf("%d rounds in %d folders: %d transactions, %d killed while opening", rounds, len(k.folders), k.acknowledged, k.opening)
	if k.acknowledged == 0 {
		t.Error("nothing was committed")
	}
}

// tempDir returns a new folder, in memory if it may be and there is such a file
// system: what a process has written outlives it there as well, and waiting for
// a disk would take most of the time.
func tempDir(t *testing.T, inMemory bool) string {
	dir, err := os.MkdirTemp("/dev/shm", "embedded-kill")
	if !inMemory || err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// killRun is what was killed so far.
type killRun struct {
	folders      []*killedFolder
	acknowledged int
	opening      int // killed before they had opened
}

// killedFolder is a folder and what must be in it.
type killedFolder struct {
	dir   string
	known lasts // acknowledged, or found
}

// compare checks what a folder holds. What was found stays.
func (f *killedFolder) compare(t *testing.T, last lasts) {
	t.Helper()
	for w, n := range last {
		if n < f.known[w] || n > f.known[w]+1 {
			t.Errorf("%s: transaction %d of writer %d is the last, but %d was acknowledged", f.dir, n, w, f.known[w])
		}
	}
	f.known = last
}

// round lets a process run in the folder and kills it: after some lines, and
// a random while that may be none.
func (k *killRun) round(t *testing.T, f *killedFolder, random *rand.Rand) {
	t.Helper()
	how := []string{"synced", "unsynced", "usual"}[random.IntN(3)]
	cmd, out := startChild(t, "write "+how, f.dir)
	lines := max(1, random.IntN(100)-10) // "opening", "found", acknowledgements
	for range lines {
		k.line(t, f, out)
	}
	for range random.IntN(200_000) {
		_ = random.Uint64()
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	k.rest(t, f, out)
	_ = cmd.Wait() // it was killed
}

// line reads what the process prints.
func (k *killRun) line(t *testing.T, f *killedFolder, out *bufio.Reader) {
	t.Helper()
	text, err := out.ReadString('\n')
	if err != nil {
		t.Fatalf("the process ended after %q: %v", text, err)
	}
	k.note(t, f, text)
}

// rest reads what the process had printed before it died.
func (k *killRun) rest(t *testing.T, f *killedFolder, out *bufio.Reader) {
	t.Helper()
	for {
		text, err := out.ReadString('\n')
		if err != nil {
			break // of a last line a part may be there
		}
		k.note(t, f, text)
	}
}

func (k *killRun) note(t *testing.T, f *killedFolder, text string) {
	t.Helper()
	var found lasts
	var w, i int
	if n, _ := fmt.Sscanf(text, "found %d %d %d %d", &found[0], &found[1], &found[2], &found[3]); n == seriesWriters {
		k.opening--
		f.compare(t, found)
	} else if n, _ := fmt.Sscanf(text, "ack %d %d", &w, &i); n == 2 {
		k.acknowledged++
		f.known[w] = i
	} else if text == "opening\n" {
		k.opening++
	} else {
		t.Errorf("the process printed %q", text)
	}
}

func openDir(t *testing.T, dir string) *Database {
	t.Helper()
	db, err := Open(dir, Options{noAbsorb: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
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
