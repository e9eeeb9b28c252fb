// SPDX-License-Identifier: Apache-2.0

//go:build unix

package persistable_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/build"
)

// togetherVariable makes TestBuilderProcess a process of TestProcessesBuildTogether: the
// address of the engine.
const togetherVariable = "KAZAHANA_TEST_BUILD_TOGETHER"

// TestProcessesBuildTogether lets two processes build the same indexes at once, while this
// process writes. Each waits behind its first batch until the other one has one, too: so
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
	hooked := build.WithHook(ctx, func(s build.Stage) {
		if s == build.Moved {
			once.Do(func() {
				fmt.Println("moved")
				_, _ = io.Copy(io.Discard, os.Stdin) // until the other process has a batch
			})
		}
	})
	// The lease is short: with a single range each process takes over the other's.
	o := persistable.BuildOptions{RangeBytes: 1, Lease: 100 * time.Millisecond}
	check(t, kindStore(db, 0, allKinds...).Indexes().BuildWith(hooked, o))
}
