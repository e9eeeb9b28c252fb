// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// fix applies fixes: go vet does that, with this command as its tool. It returns the
// exit code of go vet.
//
// Go's build cache keeps fixes with the absolute paths of the files. With -trimpath, which
// GOFLAGS may hold, the cache takes equal packages in two folders for one, and go vet
// would write the fixed file into the folder that it saw first (Go 1.26). So go vet runs
// without -trimpath.
func fix(args []string, out, problems io.Writer) int {
	self, err := os.Executable()
	if err != nil {
		return failed(problems, "find the own executable, which go vet runs", err)
	}
	cmd := exec.Command("go", append([]string{"vet", "-trimpath=false", "-vettool=" + self}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, problems
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return failed(problems, "run go vet", err)
	}
	return 0
}

// failed prints an error, and returns the exit code for it.
func failed(problems io.Writer, what string, err error) int {
	fmt.Fprintf(problems, "persistvet: %s: %v\n", what, err)
	return exitError
}
