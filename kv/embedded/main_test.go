// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests and then looks for goroutines that they left, or, in
// a process that a test has started, does what that test wants.
func TestMain(m *testing.M) {
	switch dir := os.Getenv(childDir); os.Getenv(childTask) {
	case "write":
		writeUntilKilled(dir)
	case "hold":
		holdUntilKilled(dir)
	default:
		goleak.VerifyTestMain(m)
	}
}
