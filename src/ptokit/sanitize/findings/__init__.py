"""What a report says: findings folded, the two sides of a race, repairs, witnesses."""
