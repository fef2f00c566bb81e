"""What every suite shares: jobs in processes of their own, their records, and pages written from those."""
