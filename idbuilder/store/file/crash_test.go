// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/ledger"
	"github.com/kazahana-db/kazahana/internal/seed"
)

var errCrash = errors.New("crash")

// crashDisk is a disk in memory on which the machine, or the process, crashes at a
// step: every later call fails.
type crashDisk struct {
	mem   *vfs.MemFS
	mu    sync.Mutex
	left  int    // steps until the crash; negative: none
	fails string // the step that fails, without a crash
}

func (d *crashDisk) step(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fails != "" && strings.HasPrefix(what, d.fails) {
		return errCrash
	}
	if d.left == 0 {
		return errCrash
	}
	d.left--
	return nil
}

func (d *crashDisk) do(what, path string, fn func() error) error {
	if err := d.step(what + " " + path); err != nil {
		return err
	}
	return fn()
}

func (d *crashDisk) ReadFile(path string) (data []byte, err error) {
	file, err := d.mem.Open(path)
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(file)
	return data, errors.Join(err, file.Close())
}

func (d *crashDisk) Create(path string) (w writer, err error) {
	if _, err := d.mem.Stat(path); err == nil {
		return nil, fs.ErrExist
	}
	err = d.do("create", path, func() error {
		file, err := d.mem.Create(path, vfs.WriteCategoryUnspecified)
		w = crashingFile{file, d, path}
		return err
	})
	return w, err
}

func (d *crashDisk) Rename(from, to string) error {
	return d.do("rename", to, func() error { return d.mem.Rename(from, to) })
}

func (d *crashDisk) Remove(path string) error {
	if _, err := d.mem.Stat(path); err != nil {
		return err
	}
	return d.do("remove", path, func() error { return d.mem.Remove(path) })
}

func (d *crashDisk) MkdirAll(path string) error {
	return d.do("mkdir", path, func() error { return d.mem.MkdirAll(path, 0o700) })
}

func (d *crashDisk) SyncDir(path string) error {
	return d.do("syncdir", path, func() error {
		dir, err := d.mem.OpenDir(path)
		if err != nil {
			return err
		}
		return errors.Join(dir.Sync(), dir.Close())
	})
}

func (d *crashDisk) ReadDir(path string) ([]string, error) { return d.mem.List(path) }

func (d *crashDisk) Lock(context.Context, string, bool) (io.Closer, error) {
	return io.NopCloser(nil), nil
}

type crashingFile struct {
	vfs.File
	disk *crashDisk
	path string
}

func (f crashingFile) Write(data []byte) (n int, err error) {
	err = f.disk.do("write", f.path, func() error {
		n, err = f.File.Write(data)
		return err
	})
	if err != nil && n == 0 && f.disk.left == 0 {
		_, _ = f.File.Write(data[:len(data)/2]) // a write that is cut short
	}
	return n, err
}

func (f crashingFile) Sync() error { return f.disk.do("sync", f.path, f.File.Sync) }

// history has what a store has acknowledged.
type history struct {
	given    ledger.Ledger
	version  int64 // of the document
	deleted  int64 // the last version that was deleted
	revision int64
	removed  bool // the sequence of removeSequence
}

// useStore makes one call after another, until one fails.
func (h *history) useStore(ctx context.Context, s *Store, rounds int) error {
	for range rounds {
		r, err := s.Reserve(ctx, "orders", up(3))
		if err != nil {
			return err
		}
		h.given.Add(r)
		if err := h.removeSequence(ctx, s); err != nil {
			return err
		}
		revision, err := s.Advance(ctx)
		if err != nil {
			return err
		}
		if revision <= h.revision {
			return fmt.Errorf("the revision went from %d to %d", h.revision, revision)
		}
		h.revision = revision
		if err := h.changeDocument(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// removeSequence makes a sequence and removes it.
func (h *history) removeSequence(ctx context.Context, s *Store) error {
	if _, err := s.Sequence(ctx, "removed"); err == nil && h.removed {
		return errors.New("a removed sequence came back")
	}
	h.removed = false
	if _, err := s.Reserve(ctx, "removed", up(1)); err != nil {
		return err
	}
	_, err := s.DeleteSequence(ctx, "removed")
	h.removed = err == nil
	return err
}

// changeDocument creates, replaces and deletes a document.
func (h *history) changeDocument(ctx context.Context, s *Store) error {
	d, err := s.Get(ctx, store.Tokens, "orders")
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	switch {
	case err != nil && h.version > 0:
		return fmt.Errorf("the document was lost, which had version %d", h.version)
	case err == nil && d.Version <= h.deleted:
		return fmt.Errorf("version %d came back, after version %d was deleted", d.Version, h.deleted)
	case err == nil && d.Version < h.version:
		return fmt.Errorf("the document went back from version %d to %d", h.version, d.Version)
	case err == nil && d.Version%3 == 0:
		h.version = 0 // it may be deleted, whatever the answer
		if err := s.Delete(ctx, store.Tokens, "orders", d.Version); err != nil {
			return err
		}
		h.deleted = d.Version
		return nil
	}
	version, err := s.Put(ctx, store.Tokens, store.Document{Key: "orders", Value: []byte(`{}`), Version: d.Version})
	if err != nil {
		return err
	}
	if h.version = version; version <= h.deleted {
		return fmt.Errorf("version %d after version %d was deleted", version, h.deleted)
	}
	return nil
}

// TestCrashes ends the machine, or the process, at each step of a history, with
// nothing, some or all of the unsynced data on the disk. Nothing that the store has
// acknowledged is lost, no number is given twice, and the store works afterwards.
func TestCrashes(t *testing.T) {
	rng := seed.Rand(t)
	steps := 0
	for at := 0; ; at++ {
		crashed := false
		for _, percent := range []int{0, 30, 70, 100} {
			crashed = crash(t, at, percent, rng)
		}
		if !crashed {
			break
		}
		steps++
	}
	if steps < 60 {
		t.Errorf("only %d steps were tried", steps)
	}
}

// crash runs one history with a crash, and reports whether the crash happened.
func crash(t *testing.T, at, percent int, rng *rand.Rand) bool {
	t.Helper()
	root := filepath.FromSlash("/data/ids")
	d := &crashDisk{mem: vfs.NewCrashableMem(), left: at}
	var h history
	run := func(rounds int) error {
		s := newStore(root, d, Options{})
		if err := s.Init(t.Context()); err != nil {
			return err
		}
		return h.useStore(t.Context(), s, rounds)
	}
	err := run(4)
	if err != nil && !errors.Is(err, errCrash) {
		t.Fatalf("crash at step %d: before it: %v", at, err)
	}
	crashed := err != nil
	revision := h.revision
	d = &crashDisk{mem: d.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}), left: -1}
	if err := run(4); err != nil {
		t.Fatalf("crash at step %d with %d %% of what was not synced: after it: %v", at, percent, err)
	}
	if err := h.given.Check(true); err != nil {
		t.Fatalf("crash at step %d with %d %% of what was not synced: %v", at, percent, err)
	}
	if h.revision < revision+4 {
		t.Fatalf("crash at step %d with %d %%: the revision went from %d to %d", at, percent, revision, h.revision)
	}
	return crashed
}

// TestFailedSync checks that the store writes no more to a file or folder after a failed sync,
// until it is opened anew.
func TestFailedSync(t *testing.T) {
	root := filepath.FromSlash("/data")
	for _, fails := range []string{"sync " + filepath.Join(root, "sequences", "orders"), "syncdir " + filepath.Join(root, "sequences")} {
		t.Run(fails, func(t *testing.T) {
			d := &crashDisk{mem: vfs.NewCrashableMem(), left: -1}
			s := newStore(root, d, Options{})
			check(t, s.Init(t.Context()))
			var given ledger.Ledger
			first, err := s.Reserve(t.Context(), "orders", up(3))
			check(t, err)
			given.Add(first)
			d.fails = fails
			for range 2 {
				if got, err := s.Reserve(t.Context(), "orders", up(3)); !errors.Is(err, errCrash) {
					t.Errorf("while syncing fails: %+v, %v", got, err)
				}
				d.fails = ""
			}
			if _, err := s.Reserve(t.Context(), "others", up(3)); (err == nil) != strings.HasPrefix(fails, "sync ") {
				t.Errorf("another sequence: %v", err)
			}
			_, err = s.Put(t.Context(), store.Configs, store.Document{Key: "orders", Value: []byte(`{}`)})
			check(t, err)
			d.mem = d.mem.CrashClone(vfs.CrashCloneCfg{})
			again := newStore(root, d, Options{})
			second, err := again.Reserve(t.Context(), "orders", up(3))
			check(t, err)
			given.Add(second)
			check(t, given.Check(true))
		})
	}
}
