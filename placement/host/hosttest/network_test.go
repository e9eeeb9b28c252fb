// SPDX-License-Identifier: Apache-2.0

package hosttest_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
)

func TestNetwork(t *testing.T) {
	network, count := hosttest.NewNetwork(), atomic.Int64{}
	hosttest.RunTransport(t, func(t *testing.T) host.Transport {
		return network.Listen(fmt.Sprint("peer ", count.Add(1)))
	})
}
