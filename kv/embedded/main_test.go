// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"os"
	"testing"
)

// TestMain runs the tests or, in a process that a test has started, does what
// that test wants.
func TestMain(m *testing.M) {
	switch dir := os.Getenv(childDir); os.Getenv(childTask) {
	case "write":
		writeUntilKilled(dir)
	case "hold":
		holdUntilKilled(dir)
	default:
		os.Exit(m.Run())
	}
}
