// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/ast"
	"go/build/constraint"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// constraintOf is the build constraint of a file: its //go:build line and what
// its name, or an import "C", implies.
func constraintOf(fset *token.FileSet, file *ast.File) string {
	var parts []constraint.Expr
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, line := range group.List {
			if e, err := constraint.Parse(line.Text); err == nil && constraint.IsGoBuild(line.Text) {
				parts = append(parts, e)
			}
		}
	}
	for _, word := range nameConstraints(fset.Position(file.FileStart).Filename) {
		parts = append(parts, &constraint.TagExpr{Tag: word})
	}
	for _, one := range file.Imports {
		if one.Path.Value == `"C"` {
			parts = append(parts, &constraint.TagExpr{Tag: "cgo"})
		}
	}
	if len(parts) == 0 {
		return ""
	}
	e := parts[0]
	for _, part := range parts[1:] {
		e = &constraint.AndExpr{X: e, Y: part}
	}
	return e.String()
}

// nameConstraints returns the operating system and architecture that end a
// file's name, as go/build reads them.
func nameConstraints(file string) []string {
	name := strings.TrimSuffix(filepath.Base(file), ".go")
	_, rest, found := strings.Cut(name, "_")
	if !found {
		return nil
	}
	words := strings.Split(rest, "_")
	n := len(words)
	switch {
	case n >= 2 && slices.Contains(knownOS, words[n-2]) && slices.Contains(knownArch, words[n-1]):
		return words[n-2:]
	case slices.Contains(knownOS, words[n-1]) || slices.Contains(knownArch, words[n-1]):
		return words[n-1:]
	}
	return nil
}

// The words that go/build recognizes at the end of file names.
var (
	knownOS = strings.Fields("aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 " +
		"solaris wasip1 windows zos")
	knownArch = strings.Fields("386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 " +
		"mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm")
)
