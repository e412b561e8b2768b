package semconv

import "go.opentelemetry.io/otel/attribute"

// Gym attributes of NeMo Lens. NeMo Gym itself uses the names under nemo.gym.
const (
	// GymServerNameKey is "gym.server.name": the name of a server.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	GymServerNameKey = attribute.Key("gym.server.name")

	// GymServerTypeKey is "gym.server.type": the type of a server.
	//
	// Type: string
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	GymServerTypeKey = attribute.Key("gym.server.type")

	// GymNumServersKey is "gym.num_servers": the number of servers of a run.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	GymNumServersKey = attribute.Key("gym.num_servers")

	// GymRolloutBatchSizeKey is "gym.rollout.batch_size": the number of rollouts
	// of a batch.
	//
	// Type: int
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	GymRolloutBatchSizeKey = attribute.Key("gym.rollout.batch_size")

	// GymVerifySuccessRateKey is "gym.verify.success_rate": the share of
	// successful verifications, 0 to 1.
	//
	// Type: double
	//
	// Stability: stable inside NeMo
	//
	// Source: NeMo Lens, all versions
	GymVerifySuccessRateKey = attribute.Key("gym.verify.success_rate")
)
