// SPDX-License-Identifier: Apache-2.0

// Package idconfig has the configurations of IDs: increment, snowflake and
// formatted. It reads them from requests in either dialect of the service's
// clients, checks them, and decides which changes could give an ID twice.
//
//	c, err := idconfig.Parse(idconfig.TypeIncrement, []byte(`{"key": "orders", "base": 1000}`), time.Now())
//	if err != nil {
//		return err // a *ParamError: which parameter, what is allowed
//	}
//	value, err := c.Encode() // as the store keeps it
//	fmt.Println(c.Increment.Start(), c.Increment.Delta)
//
// # Dialects
//
// The specification names a configuration by key, and an increment's number
// before the first ID by base: base 1000 gives 1001 first. The deployed worker names it by name,
// and the first ID itself by start. A request may use either, not both for
// one thing. [Config.Fields] answers with the fields of both. A request with a parameter
// that does not exist is refused, with the nearest one that does.
//
// # Changes
//
// [CheckChange] refuses a change that could repeat an ID that was given before,
// unless the caller forces it. A formatted key keeps all its former formats
// ([Config.Succeed]), since of three formats the first and the last may make the
// same IDs though neither makes those of the second. For the same reason a deleted
// configuration stays, as a tombstone.
package idconfig
