// Package attribute has what the test programs need of the real one.
package attribute

type KeyValue struct{ Key, Value string }

func Int(key string, value int) KeyValue { return KeyValue{} }
