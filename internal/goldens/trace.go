// SPDX-License-Identifier: Apache-2.0

package goldens

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// The traces are JSON Lines, as they were recorded or compressed.
const (
	plain      = ".jsonl"
	compressed = plain + ".gz"
)

// Glob returns the paths of the traces in dir with names that, without extension,
// match a pattern of [filepath.Match]: at least one.
func Glob(dir, pattern string) ([]string, error) {
	for _, extension := range []string{plain, compressed} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern+extension))
		if err != nil || len(paths) > 0 {
			return paths, err
		}
	}
	return nil, fmt.Errorf("goldens: there is no trace %s in %s", pattern, dir)
}

// Name returns the name of the trace at path, without folder and extension.
func Name(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), plain)
}

// Open opens the trace at path, decompressed.
func Open(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil || !strings.HasSuffix(path, compressed) {
		return file, err
	}
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("goldens: %s: %w", path, err), file.Close())
	}
	return trace{unzipped, file}, nil
}

// trace is a compressed trace.
type trace struct {
	*gzip.Reader
	file *os.File
}

// Close closes the file.
func (t trace) Close() error { return errors.Join(t.Reader.Close(), t.file.Close()) }
