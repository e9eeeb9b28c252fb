// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"context"
	"io"

	"github.com/kazahana-db/kazahana/codegen/internal/source"
)

// Shell runs the command in a folder and an environment of its own. Its runs share
// the packages that they import.
type Shell struct{ dependencies *source.Dependencies }

func NewShell() *Shell { return &Shell{source.NewDependencies()} }

func (s *Shell) Run(ctx context.Context, dir string, env, args []string, stdout, stderr io.Writer) int {
	return runCommand(ctx, args, Options{Dir: dir, Stdout: stdout, Stderr: stderr, env: env, dependencies: s.dependencies})
}
