// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/source"
	"github.com/kazahana-db/kazahana/codegen/internal/watch"
)

// scopeOf is what is watched: where the patterns name packages, what those that were
// loaded import, the modules, and the outputs that are no source files.
func (w *watchRun) scopeOf(workspace source.Workspace) watch.Scope {
	scope := watch.Scope{Folders: workspace.Folders, Files: w.moduleFiles()}
	for _, m := range workspace.Modules {
		scope.Add(watch.Scope{Files: []string{m.File}})
	}
	for _, pattern := range w.options.Patterns {
		scope.Add(w.scopeOfPattern(filepath.ToSlash(pattern), workspace.Modules))
	}
	if w.options.GraphInto != "" {
		scope.Add(watch.Scope{Files: []string{w.absolute(w.options.GraphInto)}})
	}
	return scope
}

// moduleFiles are the files of the module in which the command runs, and of a workspace.
func (w *watchRun) moduleFiles() (list []string) {
	for dir := w.dir; ; dir = filepath.Dir(dir) {
		module, workspace := filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.work")
		if _, err := os.Stat(workspace); err == nil {
			list = append(list, workspace)
		}
		if _, err := os.Stat(module); err == nil {
			list = append(list, module, filepath.Join(dir, "go.sum"), workspace)
		}
		if dir == filepath.Dir(dir) {
			return list
		}
	}
}

// scopeOfPattern is where a pattern names packages. Those of an import path are in the
// modules that are known from the last load.
func (w *watchRun) scopeOfPattern(pattern string, modules []source.Module) (scope watch.Scope) {
	prefix, _, tree := strings.Cut(pattern, "...")
	if pattern == "all" {
		prefix, tree = "", true
	}
	add := func(dir string) {
		if tree {
			scope.Trees = append(scope.Trees, dir)
		} else {
			scope.Folders = append(scope.Folders, dir)
		}
	}
	prefix = strings.TrimSuffix(prefix, "/")
	switch {
	case strings.HasSuffix(pattern, ".go"):
		scope.Folders = []string{filepath.Dir(w.absolute(pattern))}
	case strings.HasPrefix(pattern, ".") || filepath.IsAbs(pattern):
		add(w.absolute(prefix))
	}
	for _, m := range modules {
		if rest, below := strings.CutPrefix(prefix+"/", m.Path+"/"); below {
			add(filepath.Join(m.Dir, rest))
		} else if tree && strings.HasPrefix(m.Path, prefix) {
			add(m.Dir)
		}
	}
	slices.Sort(scope.Trees)
	return scope
}
