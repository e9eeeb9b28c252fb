// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"github.com/kazahana-db/kazahana/persistable/internal/tenancy"
)

// TenantOwner is the owner of the annotations of tenants.
const TenantOwner = tenancy.Owner

// Tenant is what the annotation "settings" of a directory says.
type Tenant struct {
	Locked         bool
	Reason         string // of the lock
	Records, Bytes int64  // the most that the tenant may have; 0: no bound
	Quota          bool   // usage is counted
	Counting       bool   // the records that were there before the quota are not all counted yet
}

// DecodeTenant reads the value of the annotation "settings"; nil is the zero value.
func DecodeTenant(value []byte) (Tenant, error) {
	s, err := tenancy.Decode(value)
	return Tenant{
		Locked: s.Lock.ID != "", Reason: s.Lock.Reason, Records: s.Quota.Records, Bytes: s.Quota.Bytes,
		Quota: s.Quota.State != tenancy.Off, Counting: s.Quota.State == tenancy.Counting,
	}, err
}
