// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/diff"
	"github.com/kazahana-db/kazahana/codegen/internal/lock"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
)

// writeOutputs brings the outputs to disk, and returns those that have changed. The locks
// are first and the code is last: code never has numbers that its lock does not have, even
// if a write fails. A lock that is ahead of its code gives the fields the same numbers in
// the next run.
func (r *run) writeOutputs() ([]output.File, error) {
	slices.SortStableFunc(r.outputs, func(a, b output.File) int { return cmp.Compare(writeOrder(a), writeOrder(b)) })
	changed, err := output.WriteAll(r.outputs)
	if err != nil {
		err = fmt.Errorf("persistgen: %w", err)
	}
	return changed, err
}

func writeOrder(o output.File) int {
	switch {
	case filepath.Base(o.Path) == lock.FileName:
		return 0
	case o.Content == nil:
		return 3
	case strings.HasSuffix(o.Path, output.GeneratedSuffix):
		return 2
	}
	return 1
}

// printDiffs prints what write would change, as a unified diff.
func (r *run) printDiffs() error {
	stale := false
	for _, o := range r.outputs {
		if !o.Differs() {
			continue
		}
		old, err := os.ReadFile(o.Path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("persistgen: %w", err)
		}
		stale = true
		name := r.faults.Relative(o.Path)
		if _, err := r.options.Stdout.Write(diff.Unified(name, output.UnixLines(old), o.Content)); err != nil {
			return fmt.Errorf("persistgen: print the diff: %w", err)
		}
	}
	if stale {
		return ErrOutOfDate
	}
	return nil
}
