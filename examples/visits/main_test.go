// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

func TestVisit(t *testing.T) {
	engine := enginetest.Open(t)
	for i, want := range []string{
		"a: visit 1, under epoch 1\nb: visit 1, under epoch 1\na: visit 2, under epoch 1\n",
		"a: visit 3, under epoch 2\nb: visit 2, under epoch 2\na: visit 4, under epoch 2\n",
	} {
		var out strings.Builder
		if err := visit(t.Context(), &out, engine, "x", []string{"a", "b", "a"}); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("run %d says %q, want %q", i+1, out.String(), want)
		}
	}
}

// faultyDatabase is a database that commits nothing while it refuses.
type faultyDatabase struct {
	kv.Database
	refuses bool
}

func (r *faultyDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	if r.refuses {
		return errors.New("refused")
	}
	return r.Database.Transact(ctx, fn)
}

// A visit is not counted by the next one if its transaction failed.
func TestVisitThatIsNotStored(t *testing.T) {
	db := &faultyDatabase{enginetest.Open(t), true}
	p := &page{db: db, key: []byte("visits/a")}
	if _, err := p.Visit(t.Context(), struct{}{}); err == nil {
		t.Fatal("the visit is stored")
	}
	db.refuses = false
	if v, err := p.Visit(t.Context(), struct{}{}); err != nil || v.Visits != 1 {
		t.Errorf("the first visit that is stored: %+v, %v", v, err)
	}
}

// landingDatabase is a database in which an abandoned commit lands between what the next
// transaction reads and its commit.
type landingDatabase struct {
	*enginetest.Lossy
	land func() error // nil: it has landed
}

func (l *landingDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return l.Lossy.Transact(ctx, func(tx kv.Transaction) error {
		err := fn(tx)
		if land := l.land; land != nil && err == nil && ctx.Err() == nil {
			l.land = nil
			err = land()
		}
		return err
	})
}

// A visit does not overwrite that of a call with a context that ended during the commit.
func TestVisitAfterAnAbandonedOne(t *testing.T) {
	db := &landingDatabase{Lossy: &enginetest.Lossy{Database: enginetest.Open(t)}}
	p := &page{db: db, key: []byte("visits/a")}
	ctx, cancel := context.WithCancel(t.Context())
	land := db.Interrupt(cancel)
	if _, err := p.Visit(ctx, struct{}{}); !errors.Is(err, kv.ErrOutcomeUnknown) {
		t.Fatalf("the abandoned visit: %v", err)
	}
	db.land = land
	if v, err := p.Visit(t.Context(), struct{}{}); err != nil || v.Visits != 2 {
		t.Errorf("the next visit: %+v, %v; want the second", v, err)
	}
}

// TestDocumented executes the commands of docs/placement.md, and compares what they write with what the
// page shows.
func TestDocumented(t *testing.T) {
	blocks := regexp.MustCompile("(?s)<!-- tested -->\n```console\n(.*?)```").FindAllStringSubmatch(document(t), -1)
	command := buildCommand(t)
	t.Chdir(t.TempDir())
	if len(blocks) < 2 {
		t.Fatalf("docs/placement.md has %d tested blocks", len(blocks))
	}
	for _, block := range blocks {
		var got strings.Builder
		for _, line := range regexp.MustCompile(`(?m)^\$ .*$`).FindAllString(block[1], -1) {
			got.WriteString(line + "\n")
			execute(t, &got, command, strings.Fields(line)[1:])
		}
		if diff := cmp.Diff(block[1], got.String()); diff != "" {
			t.Errorf("docs/placement.md differs from what happens (-document +program):\n%s", diff)
		}
	}
}

// buildCommand compiles kazahana, and returns its file.
func buildCommand(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kazahana")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", file, "./cmd/kazahana")
	build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0") // as built for other tests
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// execute executes a command of the page; kazahana is the file of that command.
func execute(t *testing.T, out *strings.Builder, kazahana string, words []string) {
	t.Helper()
	switch command := strings.Join(words[:min(3, len(words))], " "); {
	case command == "go run ./examples/visits":
		if err := start(t.Context(), out, filepath.Join("data", "visits"), "", "a", words[3:]); err != nil {
			t.Fatal(err)
		}
	case words[0] == "kazahana":
		run := exec.CommandContext(t.Context(), kazahana, words[1:]...)
		run.Stdout, run.Stderr = out, out
		if err := run.Run(); err != nil {
			t.Fatalf("%v: %v: %s", words, err, out)
		}
	default:
		t.Fatalf("this test does not know the command %v", words)
	}
}

func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "placement.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
