// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Workspace is what may change while persistgen runs: the folders of the packages that were
// loaded, and of those that they import, with their modules, as far as these are the main
// module or replaced by a folder.
type Workspace struct {
	Folders []string
	Modules []Module
}

// Module is a module by its path, its folder and its go.mod.
type Module struct{ Path, Dir, File string }

// findWorkspace looks through the packages and their imports.
func findWorkspace(found []*packages.Package) Workspace {
	folders, modules := map[string]bool{}, map[string]Module{}
	packages.Visit(found, nil, func(p *packages.Package) {
		if m := p.Module; isEdited(m) {
			modules[m.Path] = Module{m.Path, m.Dir, m.GoMod}
			if p.Dir != "" {
				folders[p.Dir] = true
			}
		}
	})
	e := Workspace{Folders: slices.Sorted(maps.Keys(folders))}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		e.Modules = append(e.Modules, modules[path])
	}
	return e
}

// isEdited reports whether the files of a module may change while persistgen runs:
// those of the main module and of the modules that a folder replaces.
func isEdited(m *packages.Module) bool {
	return m != nil && (m.Main || m.Replace != nil && m.Replace.Version == "")
}

// stamp tells versions of a package apart whose files may change: by their times and
// sizes. It is empty for others.
func stamp(p *packages.Package) string {
	if !isEdited(p.Module) {
		return ""
	}
	var b strings.Builder
	for _, file := range p.GoFiles {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintln(&b, info.ModTime().UnixNano(), info.Size())
		}
	}
	return b.String()
}
