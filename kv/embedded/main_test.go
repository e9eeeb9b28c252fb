// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
)

// TestMain runs the tests or, in a process that a test has started, does what
// that test wants.
func TestMain(m *testing.M) {
	ryw.Unattended = 500 * time.Millisecond // recorded misuse comes before the commit is over, on slow machines too
	task, how, _ := strings.Cut(os.Getenv(childTask), " ")
	switch dir := os.Getenv(childDir); task {
	case "write":
		writeUntilKilled(dir, how)
	case "try":
		tryToOpen(dir)
	case "hold":
		holdUntilKilled(dir)
	case "backup":
		backUpUntilKilled(dir)
	default:
		os.Exit(m.Run())
	}
}
