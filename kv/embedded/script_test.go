// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// TestEngineScripts runs the scripts of testdata/engine, which show the life of the
// engine step by step. Below each step a script has what the step answered, and the
// lines that it took from the window, the log, the vacancies and the base, or added.
// "go test -run TestEngineScripts -rewrite" writes what is below the steps anew.
//
// Time stands still except in the step advance, and only the step absorb moves commits
// to the base. So a script says the same in every run. testdata/engine/README.md
// lists the steps.
func TestEngineScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/engine", func(t *testing.T, path string) {
		if strings.HasSuffix(path, ".md") {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t)
			defer s.close()
			datadriven.RunTest(t, path, s.run)
		})
	})
}

// script is a database that a script drives.
type script struct {
	t     *testing.T
	start time.Time // version 0 of what the script prints
	out   strings.Builder
	shown map[string]string // the parts of the engine as they were printed last

	mem     *vfs.MemFS
	dir     string
	options Options
	db      *Database              // nil: closed
	release func()                 // ends the step hold-disk; nil: it does not go on
	onWrite atomic.Pointer[func()] // is called before each operation that writes to the disk
	broken  atomic.Pointer[string] // writes to files with this name in their path fail; nil: none

	txns    map[string]kv.Transaction
	commits []scriptFuture // under way
	watches []scriptFuture
}

// scriptFuture is a commit or a watch under the name that scripts have for it.
type scriptFuture struct {
	name string
	f    kv.Future[struct{}]
	tx   kv.Transaction // of a commit
}

func newScript(t *testing.T) *script {
	return &script{t: t, start: time.Now(), shown: map[string]string{}, mem: vfs.NewCrashableMem(), dir: "db", txns: map[string]kv.Transaction{}}
}

// run makes one step and returns what is printed below it.
func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	s.t = t
	s.out.Reset()
	step, known := s.steps()[d.Cmd]
	if !known {
		d.Fatalf(t, "there is no step %q", d.Cmd)
	}
	before := time.Now()
	step(d)
	synctest.Wait()
	if d.Cmd != "advance" && !time.Now().Equal(before) {
		d.Fatalf(t, "the step has waited for %v: only advance moves the time", time.Since(before))
	}
	s.printDone()
	s.printChanges()
	return s.out.String()
}

func (s *script) steps() map[string]func(*datadriven.TestData) {
	return map[string]func(*datadriven.TestData){
		"open":             s.openWith,
		"close":            func(*datadriven.TestData) { s.close() },
		"reopen":           func(*datadriven.TestData) { s.close(); s.open() },
		"crash":            s.crash,
		"crash-everywhere": s.crashEverywhere,
		"advance":          s.advance,
		"commit":           s.commit,
		"txn":              s.txn,
		"hold-disk":        func(*datadriven.TestData) { s.release = s.db.committer.PauseDisk() },
		"release-disk":     func(*datadriven.TestData) { s.release(); s.release = nil },
		"break-disk":       func(d *datadriven.TestData) { s.broken.Store(&d.CmdArgs[0].Key) },
		"absorb":           s.absorb,
		"flush":            func(*datadriven.TestData) { s.fail(s.db.flushBase()) },
		"confirm":          func(*datadriven.TestData) { s.fail(s.db.disk.log.Confirm()) },
		"backup":           s.backup,
		"show":             s.show,
		"scan":             s.scan,
		"report-vacancy":   s.reportVacancy,
		"conflicts":        func(*datadriven.TestData) { s.printf("%s", s.conflictsText()) },
		"versions":         s.versions,
	}
}

func (s *script) printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.out.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		s.out.WriteByte('\n')
	}
}

// fail prints an error.
func (s *script) fail(err error) {
	if err != nil {
		s.printf("%s", errorText(err))
	}
}

func errorText(err error) string {
	if code := kv.CodeOf(err); code != 0 {
		return fmt.Sprintf("error %d: %v", int(code), code)
	}
	if errors.Is(err, iofs.ErrExist) {
		err = iofs.ErrExist // the whole names one of several files
	}
	return "error: " + err.Error()
}

// absorb does what the absorber does from time to time, or moves what was committed up
// to a version to the base, as the absorber does when the window is too large.
func (s *script) absorb(d *datadriven.TestData) {
	if text := ""; d.MaybeScanArgs(s.t, "up-to", &text) {
		s.fail(s.db.absorbUpTo(s.parseVersion(text)))
		return
	}
	s.fail(s.db.absorb())
}

func (s *script) advance(d *datadriven.TestData) {
	wait, err := time.ParseDuration(d.CmdArgs[0].Key)
	if err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	time.Sleep(wait)
}

// scan reads a range of the newest view and prints what that costs.
func (s *script) scan(d *datadriven.TestData) {
	pairs, passed, steps, err := s.db.scanNewest(unquote(s.t, d.CmdArgs[0].Key), unquote(s.t, d.CmdArgs[1].Key))
	s.fail(err)
	s.printf("%s (past %d entries without a value; %d steps in the base)", pairsText(pairs), passed, steps)
}

// reportVacancy reports a range without values, as a read at the version does.
func (s *script) reportVacancy(d *datadriven.TestData) {
	begin, end := unquote(s.t, d.CmdArgs[0].Key), unquote(s.t, d.CmdArgs[1].Key)
	s.db.reportVacancy(kv.KeyRange{Begin: begin, End: end}, s.parseVersion(d.CmdArgs[2].Key))
}

// versions prints which versions a transaction can read.
func (s *script) versions(*datadriven.TestData) {
	oldest, views, _ := s.db.head.Kept()
	s.printf("%d views from %s on", views, s.version(oldest))
}

// version returns a version as scripts have it: in seconds since the start. There
// are a million versions a second.
func (s *script) version(v int64) string {
	if v == 0 {
		return "0"
	}
	v -= s.start.UnixMicro()
	return fmt.Sprintf("%d.%06d", v/kv.VersionsPerSecond, v%kv.VersionsPerSecond)
}

func (s *script) parseVersion(text string) int64 {
	seconds, micros, _ := strings.Cut(text, ".")
	whole, err1 := strconv.ParseInt(seconds, 10, 64)
	part, err2 := strconv.ParseInt(micros, 10, 64)
	if err1 != nil || err2 != nil || len(micros) != 6 {
		s.t.Fatalf("%q is not a version; an example is 1.000002", text)
	}
	return s.start.UnixMicro() + whole*kv.VersionsPerSecond + part
}

// printDone prints which commits are over and which watches have fired.
func (s *script) printDone() {
	s.commits = slices.DeleteFunc(s.commits, func(c scriptFuture) bool { return s.printIfDone(c, "") })
	s.watches = slices.DeleteFunc(s.watches, func(w scriptFuture) bool { return s.printIfDone(w, "fired") })
}

func (s *script) printIfDone(c scriptFuture, text string) bool {
	if !c.f.Ready() {
		return false
	}
	_, err := c.f.Get(s.t.Context())
	switch {
	case err != nil:
		text = errorText(err)
	case c.tx != nil:
		text = s.committedText(c.tx)
	}
	s.printf("%s: %s", c.name, text)
	return true
}

// openWith opens the database with the options of the step; they stay until the
// next step of the kind.
func (s *script) openWith(d *datadriven.TestData) {
	o := Options{NoSync: d.HasArg("no-sync"), noAbsorb: true, memTable: 1 << 20, firstRepeat: -1}
	for name, field := range map[string]*int64{"segment-size": &o.segmentSize, "flush-at": &o.flushAt} {
		d.MaybeScanArgs(s.t, name, field)
	}
	if d.HasArg("dir") {
		d.ScanArgs(s.t, "dir", &s.dir)
	}
	run := 0
	if d.MaybeScanArgs(s.t, "run", &run) {
		o.leaps, o.runKeys = mvcc.Leaps{Every: 1, LongRun: run}, run
	}
	s.options = o
	s.open()
}

// open opens the database. Its disk calls onWrite and fails where a step wants that.
func (s *script) open() {
	s.options.FS = errorfs.Wrap(s.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
			return nil
		}
		if do := s.onWrite.Load(); do != nil {
			(*do)()
		}
		if broken := s.broken.Load(); broken != nil && strings.Contains(op.Path, *broken) {
			return errorfs.ErrInjected
		}
		return nil
	}))
	db, err := Open(s.dir, s.options)
	s.db = db
	s.fail(err)
}

func (s *script) close() {
	if s.db == nil {
		return
	}
	if s.release != nil {
		s.t.Fatal("the disk is held: release it before")
	}
	for _, tx := range s.txns {
		tx.Cancel()
	}
	clear(s.txns)
	s.fail(s.db.Close())
	s.db = nil
	s.broken.Store(nil)
}

func (s *script) backup(d *datadriven.TestData) {
	info, err := s.db.Backup(s.t.Context(), d.CmdArgs[0].Key)
	if err != nil {
		s.fail(err)
		return
	}
	s.printf("holds what was committed up to %s", s.version(info.Version))
}

// crash opens what a loss of power leaves: without what was not synced, or with all
// of it.
func (s *script) crash(d *datadriven.TestData) {
	cfg := vfs.CrashCloneCfg{}
	if d.HasArg("unsynced-stays") {
		cfg = vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}
	}
	left := s.mem.CrashClone(cfg)
	s.close()
	s.commits, s.watches = nil, nil
	s.mem = left
	if cut := 0; d.MaybeScanArgs(s.t, "cut", &cut) {
		s.changeLog(func(data []byte) []byte { return data[:len(data)-cut] })
	}
	if at := 0; d.MaybeScanArgs(s.t, "flip", &at) {
		s.changeLog(func(data []byte) []byte { data[at] ^= 0xff; return data })
	}
	s.open()
}

// changeLog changes the file of the newest segment.
func (s *script) changeLog(change func([]byte) []byte) {
	numbers, err := commitlog.List(s.mem, s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	number := numbers[len(numbers)-1]
	data := logFile(s.mem, s.dir, number)
	f, err := s.mem.Create(s.mem.PathJoin(s.dir, logName(int(number))), vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(change(data))
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// crashEverywhere makes another step, takes the power away before each operation of
// the disk that writes, and after the last one, and prints what is left: one line for
// all crashes in a row that leave the same.
func (s *script) crashEverywhere(d *datadriven.TestData) {
	var mu sync.Mutex
	var left []*vfs.MemFS
	note := func() {
		mu.Lock()
		defer mu.Unlock()
		left = append(left, s.mem.CrashClone(vfs.CrashCloneCfg{}))
	}
	s.onWrite.Store(&note)
	line, input, _ := strings.Cut(d.Input, "\n")
	name, args, err := datadriven.ParseLine(line)
	if err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	s.steps()[name](&datadriven.TestData{Pos: d.Pos, Cmd: name, CmdArgs: args, Input: input})
	note()
	s.onWrite.Store(nil)
	mu.Lock()
	defer mu.Unlock()
	last := ""
	for _, fs := range left {
		if text := s.leftText(fs); text != last {
			s.printf("a crash leaves %s", text)
			last = text
		}
	}
}

// leftText says what a crash has left, and what is found when that is opened.
func (s *script) leftText(fs *vfs.MemFS) string {
	numbers, err := commitlog.List(fs, s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	var segments []string
	for _, n := range numbers {
		frames, _ := logFrames(fs, s.dir, n)
		segments = append(segments, fmt.Sprintf("segment %d (frames: %d)", n, len(frames)))
	}
	o := s.options
	o.FS = fs
	db, err := Open(s.dir, o)
	if err != nil {
		return err.Error()
	}
	absorbed := db.disk.base.AbsorbedVersion()
	pairs, _, _, err := db.scanNewest(nil, []byte{0xff})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("%s, base up to %s: %s", strings.Join(segments, ", "), s.version(absorbed), pairsText(pairs))
}
