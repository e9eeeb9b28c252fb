// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
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
		s.t.Fatalf("%q is no version; one is 1.000002", text)
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
