// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// logKeeper calls [log.keep] at regular intervals. It has a goroutine of its own:
// the absorber's passes may take seconds.
type logKeeper struct {
	log     *log
	fault   *fault.Fault
	quit    chan struct{}
	running sync.WaitGroup
}

func newLogKeeper(l *log, f *fault.Fault) *logKeeper {
	return &logKeeper{log: l, fault: f, quit: make(chan struct{})}
}

// start begins calling keep every interval, until stop or a fault of the disk.
func (k *logKeeper) start(interval time.Duration) {
	k.running.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-k.quit:
				return
			case <-k.fault.Raised():
				return
			case <-ticker.C:
			}
			if err := k.log.keep(); err != nil {
				_ = k.fault.Raise("syncing the log", err)
			}
		}
	})
}

// stop ends what start began, and waits for it. It is called once.
func (k *logKeeper) stop() {
	close(k.quit)
	k.running.Wait()
}
