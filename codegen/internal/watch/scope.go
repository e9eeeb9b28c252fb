// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Scope says which files are watched, by absolute paths.
type Scope struct {
	Trees   []string // source files in these folders and below, where the go command looks for packages
	Folders []string // source files in these folders
	Files   []string // any other files
}

// Add adds what another scope has besides.
func (s *Scope) Add(other Scope) {
	add := func(to *[]string, list []string) {
		*to = append(*to, list...)
		slices.Sort(*to)
		*to = slices.Compact(*to)
	}
	add(&s.Trees, other.Trees)
	add(&s.Folders, other.Folders)
	add(&s.Files, other.Files)
}

// isSource reports whether the file of a name decides what is generated.
func isSource(name string) bool {
	switch name {
	case "go.mod", "go.sum", "go.work", "go.work.sum", "persist.lock":
		return true
	}
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && name[0] != '.' && name[0] != '_'
}

// isSkipped reports whether "..." in a pattern of packages does not match a folder of
// that name. The go command does match node_modules, which has many folders and no Go.
func isSkipped(name string) bool {
	return name[0] == '.' || name[0] == '_' || name == "testdata" || name == "vendor" || name == "node_modules"
}

// isModule reports whether a folder has a go.mod: it begins another module.
func isModule(entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "go.mod" && !e.IsDir() })
}

// existing is the folder itself, or the nearest one above it that exists.
func existing(folder string, exists func(string) bool) string {
	for !exists(folder) && filepath.Dir(folder) != folder {
		folder = filepath.Dir(folder)
	}
	return folder
}
