// SPDX-License-Identifier: Apache-2.0

//go:build unix

package persistable_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/persistable/build"
	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/internal/worklist"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// killVariable makes TestBuildProcess a process of TestBuildAfterKill, or with a fourth
// word of TestRecountAfterKill or TestVerificationAfterKill: the address of the engine, the stage at which it kills
// itself, and how often it comes there before.
const killVariable = "KAZAHANA_TEST_BUILD"

// TestBuildAfterKill kills a process that builds at each stage, twice where stages
// repeat, while this process writes. The build then goes on in this process and counts
// every record once.
func TestBuildAfterKill(t *testing.T) {
	for _, stage := range build.Stages {
		for _, before := range []int{0, 3} {
			if before > 0 && stage != build.Filled && stage != build.Moved {
				continue
			}
			t.Run(fmt.Sprint(stage, before), func(t *testing.T) { killAndResume(t, stage, before) })
		}
	}
}

func killAndResume(t *testing.T, stage build.Stage, before int) {
	engine := enginetest.Open(t)
	db := openWith(t, engine, persistable.Options{BuildBatch: 4})
	old, s := kindStore(db, 0), kindStore(db, 0, allKinds...)
	for i := range 40 {
		check(t, old.Create(ctx, smallArticle(i)))
	}
	runToDeath(t, engine, fmt.Sprintf("%s %s %d", serveEngine(t, engine), stage, before))
	for i := range 10 { // in parts that are done and parts that are not
		check(t, s.Delete(ctx, smallArticle(4*i).ID))
		check(t, s.Save(ctx, smallArticle(4*i+101)))
	}
	check(t, s.Indexes().Build(ctx, persistable.BuildOptions{Lease: 100 * time.Millisecond}))
	checkCounts(t, db, s, allKinds...)
	checkVersions(t, s)
	if r := sound(t, s.Indexes().Verify); len(r.Skipped) > 0 {
		t.Errorf("not readable: %v", r.Skipped)
	}
}

func smallArticle(i int) *Article {
	a := NewArticle(Article{Section: fmt.Sprint("s", i%3), Slug: fmt.Sprint(i), Tags: []string{fmt.Sprint("t", i%4)}, Published: day0.Add(time.Second)})
	a.ID = fmt.Sprintf("%03d", i)
	return a
}

// serveEngine serves the engine to other processes until the test ends.
func serveEngine(t *testing.T, engine kv.Database) (address string) {
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	running, stop := context.WithCancel(ctx)
	served := make(chan error)
	go func() { served <- remote.Serve(running, l, engine) }()
	t.Cleanup(func() {
		stop()
		check(t, <-served)
	})
	return l.Addr().String()
}

// runToDeath runs a process of TestBuildProcess, which must kill itself.
func runToDeath(t *testing.T, engine kv.Database, order string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBuildProcess$")
	cmd.Env = append(os.Environ(), killVariable+"="+order)
	output, err := cmd.CombinedOutput()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err == nil || !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the process was not killed: %v\n%s", err, output)
	}
}

// TestBuildProcess is one of the processes.
func TestBuildProcess(t *testing.T) {
	order := strings.Fields(os.Getenv(killVariable))
	if len(order) == 0 {
		t.Skip("TestBuildAfterKill runs it")
	}
	engine := must[*remote.Database](t)(remote.Dial(order[0]))
	db := openWith(t, engine, persistable.Options{BuildBatch: 4})
	before := int64(must[int](t)(strconv.Atoi(order[2])))
	var reached atomic.Int64
	hooked := worklist.WithHook(ctx, func(s build.Stage) {
		if s == build.Stage(order[1]) && reached.Add(1) == before+1 {
			check(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
			select {} // until the signal arrives
		}
	})
	s := kindStore(db, 0, allKinds...)
	if len(order) > 3 {
		o := map[string]persistable.VerifyOptions{"repair": repairTotals, "workers": workers(2, false), "repairers": workers(2, true)}[order[3]]
		must[persistable.Report](t)(s.Indexes().Verify(hooked, o))
		return
	}
	check(t, s.Indexes().Build(hooked, persistable.BuildOptions{}))
}

// togetherVariable makes TestBuilderProcess a process of TestProcessesBuildTogether: the
// address of the engine.
const togetherVariable = "KAZAHANA_TEST_BUILD_TOGETHER"

// TestProcessesBuildTogether lets two processes build the same indexes at once, while this
// process writes. Each waits after its first batch until the other one has one, too: so
// they share the work. Each record is counted once.
func TestProcessesBuildTogether(t *testing.T) {
	engine := enginetest.Open(t)
	db := openWith(t, engine, persistable.Options{})
	old, s := kindStore(db, 0), kindStore(db, 0, allKinds...)
	for i := range 60 {
		check(t, old.Create(ctx, smallArticle(i)))
	}
	address := serveEngine(t, engine)
	one, two := startBuilder(t, address), startBuilder(t, address)
	one.awaitBatch(t)
	two.awaitBatch(t)
	for i := range 15 { // in parts that are done and parts that are not
		check(t, s.Delete(ctx, smallArticle(4*i).ID))
		check(t, s.Save(ctx, smallArticle(4*i+101)))
	}
	one.goOn(t)
	two.goOn(t)
	one.awaitEnd(t)
	two.awaitEnd(t)
	checkCounts(t, db, s, allKinds...)
	checkVersions(t, s)
	if r := sound(t, s.Indexes().Verify); len(r.Skipped) > 0 {
		t.Errorf("not readable: %v", r.Skipped)
	}
}

// builder is a process that builds.
type builder struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Reader
}

func startBuilder(t *testing.T, address string) *builder {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBuilderProcess$")
	cmd.Env = append(os.Environ(), togetherVariable+"="+address)
	cmd.Stderr = os.Stderr
	b := &builder{cmd: cmd, input: must[io.WriteCloser](t)(cmd.StdinPipe())}
	b.output = bufio.NewReader(must[io.ReadCloser](t)(cmd.StdoutPipe()))
	check(t, cmd.Start())
	return b
}

// awaitBatch waits until the process has committed a batch.
func (b *builder) awaitBatch(t *testing.T) {
	if line, err := b.output.ReadString('\n'); err != nil || line != "moved\n" {
		t.Fatalf("the process says %q: %v", line, err)
	}
}

// goOn lets the process go on.
func (b *builder) goOn(t *testing.T) { check(t, b.input.Close()) }

// awaitEnd waits until the process has completed the build.
func (b *builder) awaitEnd(t *testing.T) {
	rest := must[[]byte](t)(io.ReadAll(b.output))
	if err := b.cmd.Wait(); err != nil {
		t.Fatalf("the process fails: %v\n%s", err, rest)
	}
}

// TestBuilderProcess is one of the processes.
func TestBuilderProcess(t *testing.T) {
	address := os.Getenv(togetherVariable)
	if address == "" {
		t.Skip("TestProcessesBuildTogether runs it")
	}
	engine := must[*remote.Database](t)(remote.Dial(address))
	db := openWith(t, engine, persistable.Options{BuildBatch: 4})
	var once sync.Once
	hooked := worklist.WithHook(ctx, func(s build.Stage) {
		if s == build.Moved {
			once.Do(func() {
				fmt.Println("moved")
				_, _ = io.Copy(io.Discard, os.Stdin) // until the other process has a batch
			})
		}
	})
	// The lease is short: with a single range each process takes over the other's.
	o := persistable.BuildOptions{RangeBytes: 1, Lease: 100 * time.Millisecond}
	check(t, kindStore(db, 0, allKinds...).Indexes().Build(hooked, o))
}

// TestRecountAfterKill kills a process that repairs damaged counts and sums by recounts,
// at each stage. This process writes, and its repair goes on with what it finds.
func TestRecountAfterKill(t *testing.T) {
	random := seed.Rand(t)
	for _, stage := range build.RecountStages {
		t.Run(string(stage), func(t *testing.T) {
			engine := enginetest.Open(t)
			db := openWith(t, engine, persistable.Options{BuildBatch: 4})
			s := kindStore(db, 0, allKinds...)
			for i := range 30 {
				check(t, s.Create(ctx, smallArticle(i)))
			}
			for damageTotals(t, random, db) == 0 {
			}
			runToDeath(t, engine, fmt.Sprintf("%s %s 0 repair", serveEngine(t, engine), stage))
			for i := range 6 {
				check(t, s.Delete(ctx, smallArticle(4*i).ID))
				check(t, s.Save(ctx, smallArticle(4*i+101)))
			}
			o := repairTotals
			o.Build.Lease = 100 * time.Millisecond
			must[persistable.Report](t)(s.Indexes().Verify(ctx, o))
			checkCounts(t, db, s, allKinds...)
			soundWith(t, s.Indexes().Verify, recount)
			checkNoRecounts(t, db)
		})
	}
}

// TestVerificationAfterKill kills a process that verifies by workers at each stage. The
// verification goes on in this process, which reports each record and each entry once.
func TestVerificationAfterKill(t *testing.T) {
	random := seed.Rand(t)
	for _, stage := range []worklist.Stage{"verification-begun", worklist.Picked, worklist.Filled, worklist.Moved, "verification-emptied"} {
		for _, before := range []int{0, 3} {
			if before > 0 && strings.HasPrefix(string(stage), "verification") {
				continue
			}
			t.Run(fmt.Sprint(stage, before), func(t *testing.T) { killVerification(t, random, stage, before) })
		}
	}
}

func killVerification(t *testing.T, random *rand.Rand, stage worklist.Stage, before int) {
	engine := enginetest.Open(t)
	db := openWith(t, engine, persistable.Options{BuildBatch: 4})
	s := kindStore(db, 0, allKinds...)
	for i := range 40 {
		check(t, s.Create(ctx, smallArticle(i)))
	}
	damage(t, random, db, dump(t, db))
	address := serveEngine(t, engine)
	alone := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{}))
	runToDeath(t, engine, fmt.Sprintf("%s %s %d workers", address, stage, before))
	killed := must[persistable.Verification](t)(s.Indexes().Verification(ctx))
	if killed.Done || killed.Began.IsZero() {
		t.Fatalf("the killed process has left %+v", killed)
	}
	shared := must[persistable.Report](t)(s.Indexes().Verify(ctx, workers(2, false)))
	if diff := gocmp.Diff(sorted(alone), sorted(shared)); diff != "" {
		t.Errorf("(-alone +shared):\n%s", diff)
	}
	now := must[persistable.Verification](t)(s.Indexes().Verification(ctx))
	if !now.Began.Equal(killed.Began) {
		t.Errorf("it began at %v, and anew at %v", killed.Began, now.Began)
	}
	runToDeath(t, engine, fmt.Sprintf("%s %s %d repairers", address, stage, before))
	repairByWorkers(t, s)
}
