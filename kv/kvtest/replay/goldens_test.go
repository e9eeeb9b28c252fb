// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/naive"
)

// missingVariable makes the test process replay the traces of a folder.
const missingVariable = "KAZAHANA_TEST_MISSING"

// TestMissingRecordingFails replays, in processes of their own, folders that each
// lack one trace: with and without CI=true the process must fail and name it. The
// scenarios themselves are left out by -run.
func TestMissingRecordingFails(t *testing.T) {
	if dir := os.Getenv(missingVariable); dir != "" {
		Goldens(t, naive.Open, dir)
		return
	}
	for _, missing := range goldenFiles {
		dir := folderWithout(t, missing)
		for _, ci := range []string{"true", ""} {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestMissingRecordingFails$/^none$")
			cmd.Env = append(os.Environ(), missingVariable+"="+dir, "CI="+ci)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "there is no trace "+missing+" in") {
				t.Errorf("CI=%q, without %s: %v\n%s", ci, missing, err, out)
			}
		}
	}
}

// folderWithout returns a folder with all traces but one.
func folderWithout(t *testing.T, missing string) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range recordings(t) {
		if goldens.Name(path) == missing {
			continue
		}
		if err := os.Symlink(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestEveryRecordingIsReplayed checks that no trace of the repository is left out,
// and that all together are below a megabyte.
func TestEveryRecordingIsReplayed(t *testing.T) {
	size := int64(0)
	for _, path := range recordings(t) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
		name := goldens.Name(path)
		if elsewhere := []string{"directory", "tuple"}; !slices.Contains(goldenFiles, name) && !slices.Contains(elsewhere, name) {
			t.Errorf("no test replays %s: add it to goldenFiles", path)
		}
	}
	if size > 1_000_000 {
		t.Errorf("the traces have %d bytes", size)
	}
}

// recordings returns the paths of the repository's traces.
func recordings(t *testing.T) []string {
	t.Helper()
	dir, err := filepath.Abs("../../../internal/goldens/testdata")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := goldens.Glob(dir, "*")
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
