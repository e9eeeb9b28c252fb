// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"errors"
	"fmt"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/output"
)

// stubs finds the generated files in dir, whatever their content, adds an empty
// file for each to overlay, and returns them.
func stubs(dir string, overlay map[string][]byte) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+output.GeneratedSuffix))
	if err != nil {
		return nil, fmt.Errorf("persistgen: list %s: %w", dir, err)
	}
	var ours []string
	for _, file := range files {
		old, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("persistgen: read the old output: %w", err)
		}
		if output.IsGenerated(old) {
			overlay[file] = stub(old, packageClause(dir, file))
			ours = append(ours, file)
		}
	}
	return ours, nil
}

// stub returns the file that replaces a generated one while its package is loaded:
// its build constraint and its package clause.
func stub(old []byte, name string) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(old) {
		if bytes.HasPrefix(line, []byte("//go:build ")) {
			b.Write(bytes.TrimRight(line, "\r\n"))
			b.WriteString("\n\n")
		}
		if bytes.HasPrefix(line, []byte("package ")) {
			break
		}
	}
	b.WriteString("package " + name + "\n")
	return b.Bytes()
}

// packageClause returns the package name of the folder's files other than the
// generated one.
func packageClause(dir, generated string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, output.GeneratedSuffix) {
			continue
		}
		if match, err := build.Default.MatchFile(dir, filepath.Base(file)); err == nil && !match {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
		if err == nil {
			return f.Name.Name
		}
	}
	return strings.TrimSuffix(filepath.Base(generated), output.GeneratedSuffix)
}

// brokenClause reports whether a file's package clause does not parse: then go list
// does not count the file as part of the package.
func brokenClause(file string) bool {
	_, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
	return err != nil
}
