// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kazahana-db/kazahana/codegen/internal/diff"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
)

// writeOutputs brings the outputs to disk.
func (r *run) writeOutputs() error {
	for _, o := range r.outputs {
		if err := o.Write(); err != nil {
			return fmt.Errorf("persistgen: write %s: %w", filepath.Base(o.Path), err)
		}
	}
	return nil
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
