// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// find returns the path of a program: the first of the names that is on PATH or
// in one of the folders, which are patterns of which the last match is newest.
func find(names []string, folders ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, folder := range folders {
			matches, _ := filepath.Glob(filepath.Join(folder, name))
			slices.Reverse(matches)
			if len(matches) > 0 {
				return matches[0], nil
			}
		}
	}
	return "", fmt.Errorf("%s is not installed", names[0])
}

// skip skips a test that lacks a server; in CI it fails.
func skip(tb testing.TB, err error, debian, homebrew string) {
	tb.Helper()
	text := fmt.Sprintf("%v: install it (apt-get install %s, brew install %s) to run this test", err, debian, homebrew)
	if os.Getenv("CI") == "true" {
		tb.Fatal(text)
	}
	tb.Skip(text)
}
