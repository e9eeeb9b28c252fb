// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
)

// readWork enters the output of Work into the ledger. Leases that were released
// are entered as released at once: another process may hold the rest.
func (f *fixture) readWork(output []byte) error {
	lines := 0
	for scanner := bufio.NewScanner(bytes.NewReader(output)); scanner.Scan(); {
		if scanner.Bytes()[0] != '{' {
			continue // what the test binary says at its end
		}
		var line workLine
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return err
		}
		lines++
		if err := f.ledger.add(line.Leases[0], line.LastTs); err != nil {
			return err
		}
		if err := f.ledger.AddGrant(line.Leases[1:]...); err != nil {
			return err
		}
	}
	if lines != workLeases {
		return fmt.Errorf("it acquired %d times, want %d", lines, workLeases)
	}
	return nil
}
