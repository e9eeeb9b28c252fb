// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// TestTwoExportsToOneFile checks that the first of two exports to one file that ends has
// it, complete, and that the other one says so and leaves nothing.
func TestTwoExportsToOneFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "tenant.export")
	var inner error
	outer := writeFile(name, func(w io.Writer) error {
		inner = writeFile(name, func(w io.Writer) error { return writeText(w, "inner") }, shell.SyncFolder)
		return writeText(w, "the outer, longer one")
	}, shell.SyncFolder)
	if inner != nil {
		t.Errorf("the export that ended first: %v", inner)
	}
	if outer == nil || !strings.Contains(outer.Error(), "exists") {
		t.Errorf("the other export: %v, want that the file exists", outer)
	}
	checkFiles(t, dir, map[string]string{"tenant.export": "inner"})
}

// TestExportThatFails checks that nothing is left of it.
func TestExportThatFails(t *testing.T) {
	dir := t.TempDir()
	fault := errors.New("no more")
	err := writeFile(filepath.Join(dir, "tenant.export"), func(w io.Writer) error {
		return errors.Join(writeText(w, "begin"), fault)
	}, shell.SyncFolder)
	if !errors.Is(err, fault) {
		t.Errorf("%v, want %v", err, fault)
	}
	checkFiles(t, dir, map[string]string{})
}

// TestExportIsSynced: when the folder is synced, the file has its name and no other one. If that
// fails, the file is not there: the export can be repeated.
func TestExportIsSynced(t *testing.T) {
	dir := t.TempDir()
	for _, fault := range []error{errors.New("the disk is gone"), nil} {
		synced := 0
		err := writeFile(filepath.Join(dir, "tenant.export"), func(w io.Writer) error { return writeText(w, "all") }, func(folder string) error {
			synced++
			checkFiles(t, folder, map[string]string{"tenant.export": "all"})
			return errors.Join(fault, shell.SyncFolder(folder))
		})
		if synced != 1 || !errors.Is(err, fault) {
			t.Errorf("the folder was synced %d times: %v, want %v", synced, err, fault)
		}
		if fault != nil {
			checkFiles(t, dir, map[string]string{})
		}
	}
	checkFiles(t, dir, map[string]string{"tenant.export": "all"})
}

func writeText(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

func checkFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(want) {
		t.Errorf("files %v, want %d", entries, len(want))
	}
	for name, content := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v, want %q", name, got, err, content)
		}
	}
}
