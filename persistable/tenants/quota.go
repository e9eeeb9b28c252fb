// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"errors"
	"fmt"
)

// Quota bounds what a tenant holds, over all its types. The zero value is no quota.
type Quota struct {
	Records int64 `json:"records,omitempty"` // maximum number of records; 0: no bound
	Bytes   int64 `json:"bytes,omitempty"`   // maximum bytes of the records' values, without keys and entries; 0: no bound
}

// Validate reports every fault of the quota.
func (q Quota) Validate() error {
	var faults []error
	if q.Records < 0 {
		faults = append(faults, fmt.Errorf("tenants: Quota.Records is %d, must not be negative", q.Records))
	}
	if q.Bytes < 0 {
		faults = append(faults, fmt.Errorf("tenants: Quota.Bytes is %d, must not be negative", q.Bytes))
	}
	return errors.Join(faults...)
}

// Usage is what a tenant holds, as its writes have counted it.
type Usage struct {
	Quota    Quota `json:"quota"`
	Records  int64 `json:"records"`
	Bytes    int64 `json:"bytes"`    // of the records' values
	Counting bool  `json:"counting"` // the records that were there before the quota are not all counted yet
}
