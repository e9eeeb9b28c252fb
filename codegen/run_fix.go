// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/idfield"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
)

// insertMissingIDs inserts the missing ID fields, file by file.
func (r *run) insertMissingIDs() error {
	byFile := map[string][]string{}
	for _, m := range r.missing {
		byFile[m.At.Filename] = append(byFile[m.At.Filename], m.GoName)
	}
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		names := byFile[file]
		source, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("persistgen: -fix: %w", err)
		}
		fixed, err := idfield.Insert(file, source, names)
		if err != nil {
			return fmt.Errorf("persistgen: -fix %s: %w", r.faults.Relative(file), err)
		}
		if err := output.ReplaceFile(file, fixed); err != nil {
			return fmt.Errorf("persistgen: -fix %s: %w", r.faults.Relative(file), err)
		}
		for _, name := range names {
			fmt.Fprintf(r.options.Stderr, "fixed: %s: %s: added ID idgen.ID\n", r.faults.Relative(file), name)
		}
	}
	return nil
}
