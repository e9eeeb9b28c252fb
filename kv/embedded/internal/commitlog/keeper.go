// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// Keeper calls [Log.Confirm] at regular intervals. It has a goroutine of its own:
// the absorber's passes may take seconds.
type Keeper struct {
	log     *Log
	fault   *fault.Fault
	quit    chan struct{}
	running sync.WaitGroup
}

func NewKeeper(l *Log, f *fault.Fault) *Keeper {
	return &Keeper{log: l, fault: f, quit: make(chan struct{})}
}

// Start begins calling keep every interval, until stop or a fault of the disk.
func (k *Keeper) Start(interval time.Duration) {
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
			if err := k.log.Confirm(); err != nil {
				_ = k.fault.Raise("syncing the log", err)
			}
		}
	})
}

// Stop ends what start began, and waits for it. It is called once.
func (k *Keeper) Stop() {
	close(k.quit)
	k.running.Wait()
}
